-- Neovim as the editor of the interactive claude.
--
-- `jackfield ide --link` is the server; this is the plugin at its other end (docs/editor-link.md). Each part has a file
-- of its own: `link` speaks, `diff` shows proposals, `selection` watches the cursor, `state` tells what there is.

local link = require("jackfield.link")
local diff = require("jackfield.diff")
local selection = require("jackfield.selection")
local state = require("jackfield.state")

local M = {}

M.options = {
  -- The program.
  command = "jackfield",
  -- The CLI, as `:Jackfield claude` starts it.
  claude = "claude",
  -- Whether the server starts with Neovim.
  autostart = false,
}

local function say(text, level)
  vim.notify("jackfield: " .. text, level or vim.log.levels.INFO)
end

function M.setup(options)
  M.options = vim.tbl_extend("force", M.options, options or {})
  if M.options.autostart then
    M.start()
  end
end

-- How often a server that has died may be started again.
local revivals = 3

-- Starts the server on a port, or on any.
local function begin(port)
  local command = { M.options.command, "ide", "--link", "--name", "Neovim", "--workspace", vim.fn.getcwd() }
  if port then
    vim.list_extend(command, { "--port", tostring(port) })
  end
  local started = link.start(command, {
    on_request = {
      open_diff = diff.open,
      open_file = state.open_file,
      tabs = state.tabs,
      diagnostics = state.diagnostics,
      document_state = state.document_state,
      save = state.save,
    },
    on_notice = {
      close_diff = diff.close,
    },
    on_exit = function(code, was)
      selection.stop()
      diff.close_all()
      if code == 0 then
        return
      end
      say("the server has ended with code " .. code .. ": " .. link.last_words(), vim.log.levels.ERROR)
      -- On its port the CLIs that were connected find it again.
      if was and revivals > 0 then
        revivals = revivals - 1
        begin(was.port)
      end
    end,
  })
  if not started then
    say("cannot start `" .. M.options.command .. "`: see :checkhealth jackfield", vim.log.levels.ERROR)
    return false
  end
  selection.start()
  return true
end

function M.start()
  if link.is_running() then
    return true
  end
  revivals = 3
  return begin()
end

function M.stop()
  link.stop()
end

-- What the server said when it began; nil before.
function M.ready()
  return link.ready
end

-- Opens a terminal with a CLI that is connected to this Neovim.
function M.claude(arguments)
  if not M.start() then
    return
  end
  link.when_ready(function(ready)
    vim.cmd("botright vsplit")
    vim.cmd("enew")
    local command = { M.options.claude }
    vim.list_extend(command, arguments)
    vim.fn.termopen(command, { env = ready.environment })
    vim.cmd("startinsert")
  end)
end

-- Speaks of a file, or of lines of it (from 1, as Neovim counts).
function M.mention(first, last)
  local path = vim.api.nvim_buf_get_name(0)
  if path == "" or vim.bo.buftype ~= "" then
    say("this is no file", vim.log.levels.WARN)
    return
  end
  if not M.start() then
    return
  end
  local params = { path = path }
  if first then
    params.lines = { first - 1, last - 1 }
  end
  link.tell("mention", params)
end

function M.status()
  if not link.ready then
    return "not running"
  end
  return string.format("port %d, %d connected, %d diffs", link.ready.port, #link.connections, diff.count())
end

function M.command(given)
  local action = given.fargs[1] or "status"
  local rest = vim.list_slice(given.fargs, 2)
  if action == "start" then
    M.start()
  elseif action == "stop" then
    M.stop()
  elseif action == "claude" then
    M.claude(rest)
  elseif action == "mention" then
    if given.range > 0 then
      M.mention(given.line1, given.line2)
    else
      M.mention()
    end
  elseif action == "accept" then
    diff.accept_here()
  elseif action == "reject" then
    diff.reject_here()
  elseif action == "status" then
    say(M.status())
  else
    say("there is no `:Jackfield " .. action .. "`", vim.log.levels.ERROR)
  end
end

return M
