-- `:checkhealth jackfield`: whether everything is there.

local M = {}

function M.check()
  local options = require("jackfield").options
  local report = vim.health or {}
  -- Neovim 0.10 has new names for these.
  local start = report.start or report.report_start or require("health").report_start
  local ok = report.ok or report.report_ok or require("health").report_ok
  local warn = report.warn or report.report_warn or require("health").report_warn
  local bad = report.error or report.report_error or require("health").report_error

  start("jackfield")
  if vim.fn.has("nvim-0.7") == 1 then
    ok("Neovim is new enough")
  else
    bad("Neovim 0.7 or newer is needed")
  end
  if vim.fn.executable(options.command) == 1 then
    ok("`" .. options.command .. "`: " .. vim.trim(vim.fn.system({ options.command, "--version" })))
  else
    bad("`" .. options.command .. "` is not in PATH: install it, or name it in setup{ command = … }")
  end
  if vim.fn.executable(options.claude) == 1 then
    ok("`" .. options.claude .. "` is there")
  else
    warn("`" .. options.claude .. "` is not in PATH; a CLI in another terminal can still connect")
  end
  if not vim.o.autoread then
    warn("'autoread' is off: files that the CLI changes are not read again by themselves")
  end
  ok("the server: " .. require("jackfield").status())
end

return M
