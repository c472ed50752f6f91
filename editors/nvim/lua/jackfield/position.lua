-- Places in a text: Neovim counts bytes, the link UTF-16 code units.

local M = {}

-- The place of a byte (from 0) in a line (from 0) of a buffer.
function M.of(buffer, line, byte)
  local text = vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1] or ""
  local _, units = vim.str_utfindex(text, math.min(byte, #text))
  return { line = line, character = units }
end

-- The byte (from 0) of a place in a buffer.
function M.byte(buffer, place)
  local text = vim.api.nvim_buf_get_lines(buffer, place.line, place.line + 1, false)[1] or ""
  local is_inside, byte = pcall(vim.str_byteindex, text, place.character, true)
  return is_inside and byte or #text
end

return M
