-- The link: JSON-RPC with `jackfield ide --link`, one message per line.

local M = { ready = nil, connections = {} }

local job = nil
local handlers = {}
local waiting = {}
local rest = ""
local errors = {}

local function send(message)
  if not job then
    return
  end
  message.jsonrpc = "2.0"
  -- Unlike Lua's own, this takes an empty table for a list.
  vim.fn.chansend(job, vim.fn.json_encode(message) .. "\n")
end

function M.tell(method, params)
  send({ method = method, params = params })
end

-- Answers a request once; later calls do nothing.
local function answering(id)
  local is_answered = false
  return function(result, reason)
    if is_answered then
      return
    end
    is_answered = true
    if reason then
      send({ id = id, error = { code = -32000, message = reason } })
    else
      send({ id = id, result = result == nil and vim.NIL or result })
    end
  end
end

local function take(line)
  local is_read, message = pcall(vim.fn.json_decode, line)
  if not is_read or not message.method then
    return
  end
  local params = message.params
  if message.id then
    local answer = answering(message.id)
    local handler = handlers.on_request[message.method]
    if not handler then
      return answer(nil, "this plugin knows no " .. message.method)
    end
    local is_done, reason = pcall(handler, params, answer)
    if not is_done then
      answer(nil, tostring(reason))
    end
  elseif message.method == "ready" then
    M.ready = params
    for _, waiter in ipairs(waiting) do
      waiter(params)
    end
    waiting = {}
  elseif message.method == "connected" then
    M.connections = params.connections
  elseif handlers.on_notice[message.method] then
    handlers.on_notice[message.method](params)
  end
end

local function on_stdout(_, pieces)
  pieces[1] = rest .. pieces[1]
  rest = table.remove(pieces)
  for _, line in ipairs(pieces) do
    if line ~= "" then
      take(line)
    end
  end
end

function M.is_running()
  return job ~= nil
end

-- Starts the server; false if there is no such program.
function M.start(command, given)
  handlers = given
  rest = ""
  errors = {}
  if vim.fn.executable(command[1]) == 0 then
    return false
  end
  local started = vim.fn.jobstart(command, {
    on_stdout = on_stdout,
    on_stderr = function(_, pieces)
      vim.list_extend(errors, pieces)
    end,
    on_exit = function(_, code)
      local was = M.ready
      job = nil
      M.ready = nil
      M.connections = {}
      waiting = {}
      given.on_exit(code, was)
    end,
  })
  if started <= 0 then
    return false
  end
  job = started
  return true
end

-- The server ends when it has nobody to read from.
function M.stop()
  if job then
    vim.fn.chanclose(job, "stdin")
  end
end

function M.when_ready(action)
  if M.ready then
    action(M.ready)
  else
    table.insert(waiting, action)
  end
end

function M.last_words()
  return vim.trim(table.concat(errors, "\n"))
end

return M
