-- What is selected, told whenever it changes.
--
-- Who leaves visual mode to go to the CLI's terminal still means what was selected, so it stays until the cursor moves in
-- a file.

local link = require("jackfield.link")
local position = require("jackfield.position")

local M = {}

local group = nil

local function cursor()
  local at = vim.api.nvim_win_get_cursor(0)
  local place = position.of(0, at[1] - 1, at[2])
  return "", { start = place, ["end"] = place }
end

local function visual(mode)
  local from, to = vim.fn.getpos("v"), vim.fn.getpos(".")
  if from[2] > to[2] or (from[2] == to[2] and from[3] > to[3]) then
    from, to = to, from
  end
  local lines = vim.api.nvim_buf_get_lines(0, from[2] - 1, to[2], false)
  if #lines == 0 then
    return cursor()
  end
  local last = lines[#lines]
  local first_byte, end_byte = from[3] - 1, #last
  if mode == "V" then
    first_byte = 0
  else
    -- The character under the cursor is selected too, all its bytes.
    local under = vim.fn.matchstr(last, ".", to[3] - 1)
    end_byte = math.min(#last, to[3] - 1 + #under)
  end
  local range = {
    start = position.of(0, from[2] - 1, first_byte),
    ["end"] = position.of(0, to[2] - 1, end_byte),
  }
  lines[#lines] = last:sub(1, end_byte)
  lines[1] = lines[1]:sub(first_byte + 1)
  return table.concat(lines, "\n"), range
end

function M.tell()
  local path = vim.api.nvim_buf_get_name(0)
  if vim.bo.buftype ~= "" then
    return
  end
  if path == "" then
    return link.tell("selection", { selection = vim.NIL })
  end
  local mode = vim.fn.mode()
  local text, range
  if mode == "v" or mode == "V" or mode == "\22" then
    text, range = visual(mode)
  else
    text, range = cursor()
  end
  link.tell("selection", { selection = { path = path, text = text, range = range } })
end

function M.start()
  group = vim.api.nvim_create_augroup("jackfield_selection", { clear = true })
  vim.api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI", "BufEnter" }, { group = group, callback = M.tell })
  vim.api.nvim_create_autocmd("ModeChanged", { group = group, pattern = "*:[vV\22]*", callback = M.tell })
  M.tell()
end

function M.stop()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
end

return M
