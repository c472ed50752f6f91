-- What there is in the editor: files, their state and their problems.

local position = require("jackfield.position")

local M = {}

local severities = { "Error", "Warning", "Info", "Hint" }

local function buffer_of(path)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_name(buffer) == path then
      return buffer
    end
  end
end

local function is_file(buffer)
  return vim.bo[buffer].buftype == "" and vim.api.nvim_buf_get_name(buffer) ~= ""
end

function M.tabs(_, answer)
  local current = vim.api.nvim_get_current_buf()
  local tabs = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buffer].buflisted and is_file(buffer) then
      local path = vim.api.nvim_buf_get_name(buffer)
      table.insert(tabs, {
        path = path,
        label = vim.fn.fnamemodify(path, ":t"),
        language = vim.bo[buffer].filetype,
        active = buffer == current,
        dirty = vim.bo[buffer].modified,
      })
    end
  end
  answer(tabs)
end

local function problem(buffer, found)
  local code = found.code or vim.tbl_get(found, "user_data", "lsp", "code")
  local start = position.of(buffer, found.lnum, found.col)
  local stop = position.of(buffer, found.end_lnum or found.lnum, found.end_col or found.col)
  return {
    message = found.message,
    severity = severities[found.severity] or "Error",
    range = { start = start, ["end"] = stop },
    source = found.source,
    code = code and tostring(code) or nil,
  }
end

function M.diagnostics(params, answer)
  -- What the CLI has just written is read first, or the problems would be those of the old text.
  vim.cmd("silent! checktime")
  local wanted = params.path ~= vim.NIL and params.path or nil
  local files = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_get_name(buffer)
    if vim.api.nvim_buf_is_loaded(buffer) and is_file(buffer) and (not wanted or path == wanted) then
      local problems = vim.tbl_map(function(found)
        return problem(buffer, found)
      end, vim.diagnostic.get(buffer))
      if #problems > 0 or wanted then
        table.insert(files, { path = path, diagnostics = problems })
      end
    end
  end
  answer(files)
end

function M.document_state(params, answer)
  local buffer = buffer_of(params.path)
  if not buffer then
    return answer(nil)
  end
  answer({ dirty = vim.bo[buffer].modified, untitled = false })
end

function M.save(params, answer)
  local buffer = buffer_of(params.path)
  if not buffer then
    return answer(nil)
  end
  local is_saved, reason = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.cmd("silent update")
  end)
  answer(is_saved and { saved = "yes" } or { saved = "no", reason = tostring(reason) })
end

-- A window in which a file may be shown: the current one, or the first that shows one.
local function window_for_files()
  for _, window in ipairs(vim.list_extend({ vim.api.nvim_get_current_win() }, vim.api.nvim_tabpage_list_wins(0))) do
    if vim.bo[vim.api.nvim_win_get_buf(window)].buftype == "" then
      return window
    end
  end
end

function M.open_file(params, answer)
  local buffer = vim.fn.bufadd(params.path)
  vim.fn.bufload(buffer)
  vim.bo[buffer].buflisted = true
  if params.frontmost then
    local window = window_for_files()
    if not window then
      vim.cmd("topleft new")
      window = vim.api.nvim_get_current_win()
    end
    vim.api.nvim_set_current_win(window)
    vim.cmd("hide buffer " .. buffer)
    local selection = params.selection
    if selection ~= vim.NIL then
      local first, last = selection.start, selection["end"]
      vim.api.nvim_win_set_cursor(window, { first.line + 1, position.byte(buffer, first) })
      vim.cmd("normal! v")
      vim.api.nvim_win_set_cursor(window, { last.line + 1, math.max(0, position.byte(buffer, last) - 1) })
    end
  end
  answer({ language = vim.bo[buffer].filetype, lines = vim.api.nvim_buf_line_count(buffer) })
end

return M
