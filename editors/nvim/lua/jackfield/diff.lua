-- Proposed changes: what is there on the left, what is proposed on the right, in a tab of their own.
--
-- Writing the right side accepts it as it is then; closing it is a no. Nothing is written to the file: the CLI does.

local M = {}

-- The open ones, by their number.
local open = {}

local function lines_of(text)
  local lines = vim.split(text, "\n", { plain = true })
  local ends_with_newline = lines[#lines] == ""
  if ends_with_newline then
    table.remove(lines)
  end
  return lines, ends_with_newline
end

local function text_of(view)
  local lines = vim.api.nvim_buf_get_lines(view.right, 0, -1, true)
  if #lines == 1 and lines[1] == "" and view.is_empty then
    return ""
  end
  return table.concat(lines, "\n") .. (view.ends_with_newline and "\n" or "")
end

local function fill(buffer, lines, path)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, lines)
  vim.bo[buffer].modified = false
  vim.api.nvim_buf_call(buffer, function()
    -- Colours only; a file type that cannot be told is no reason to show nothing.
    pcall(vim.cmd, "doautocmd filetypedetect BufRead " .. vim.fn.fnameescape(path))
  end)
end

-- After the CLI has written the file, buffers that show it are read again.
local function refresh(path)
  local timer = vim.loop.new_timer()
  local left = 20
  timer:start(100, 250, vim.schedule_wrap(function()
    left = left - 1
    if left <= 0 and not timer:is_closing() then
      timer:close()
    end
    local buffer = vim.fn.bufnr("^" .. path .. "$")
    if buffer > 0 and vim.api.nvim_buf_is_loaded(buffer) then
      vim.cmd("silent! checktime " .. buffer)
    end
  end))
end

local function remove(view)
  open[view.diff] = nil
  for _, buffer in ipairs({ view.left, view.right }) do
    if vim.api.nvim_buf_is_valid(buffer) then
      -- Windows go with their buffers, and the tab with its windows, unless it is the last one.
      for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
        pcall(vim.api.nvim_win_close, window, true)
      end
      pcall(vim.api.nvim_buf_delete, buffer, { force = true })
    end
  end
end

local function accept(view)
  local content = text_of(view)
  remove(view)
  view.answer({ verdict = "accepted", content = content })
  refresh(view.path)
end

local function reject(view)
  remove(view)
  view.answer({ verdict = "rejected" })
end

function M.open(params, answer)
  local view = { diff = params.diff, path = params.path, answer = answer, is_empty = params.new == "" }
  local old = params.old == vim.NIL and "" or params.old
  local new_lines, ends_with_newline = lines_of(params.new)
  view.ends_with_newline = ends_with_newline

  vim.cmd("tabnew")
  local first = vim.api.nvim_get_current_buf()
  view.left = vim.api.nvim_create_buf(false, true)
  view.right = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_win_set_buf(0, view.left)
  if vim.api.nvim_buf_get_name(first) == "" and not vim.bo[first].modified then
    pcall(vim.api.nvim_buf_delete, first, {})
  end
  vim.api.nvim_buf_set_name(view.left, "jackfield://" .. view.diff .. "/now" .. view.path)
  fill(view.left, (lines_of(old)), view.path)
  vim.bo[view.left].modifiable = false
  vim.cmd("diffthis")

  vim.cmd("rightbelow vsplit")
  vim.api.nvim_win_set_buf(0, view.right)
  vim.api.nvim_buf_set_name(view.right, "jackfield://" .. view.diff .. "/proposed" .. view.path)
  vim.bo[view.right].buftype = "acwrite"
  vim.bo[view.right].bufhidden = "wipe"
  vim.bo[view.right].swapfile = false
  fill(view.right, new_lines, view.path)
  vim.cmd("diffthis")
  open[view.diff] = view

  vim.api.nvim_create_autocmd("BufWriteCmd", {
    buffer = view.right,
    callback = function()
      vim.bo[view.right].modified = false
      -- Not while the command that writes still runs in it.
      vim.schedule(function()
        if open[view.diff] then
          accept(view)
        end
      end)
    end,
  })
  vim.api.nvim_create_autocmd({ "BufWipeout", "BufDelete" }, {
    buffer = view.right,
    callback = function()
      vim.schedule(function()
        if open[view.diff] then
          reject(view)
        end
      end)
    end,
  })
end

-- Decided elsewhere: nobody waits for an answer.
function M.close(params)
  local view = open[params.diff]
  if view then
    remove(view)
  end
end

function M.close_all()
  for _, view in pairs(vim.tbl_extend("force", {}, open)) do
    remove(view)
  end
end

function M.count()
  return vim.tbl_count(open)
end

local function here()
  local buffer = vim.api.nvim_get_current_buf()
  for _, view in pairs(open) do
    if view.left == buffer or view.right == buffer then
      return view
    end
  end
  vim.notify("jackfield: there is no proposed change here", vim.log.levels.WARN)
end

function M.accept_here()
  local view = here()
  if view then
    accept(view)
  end
end

function M.reject_here()
  local view = here()
  if view then
    reject(view)
  end
end

return M
