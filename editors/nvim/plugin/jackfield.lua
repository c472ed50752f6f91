-- The command, and nothing else before it is used.
if vim.g.loaded_jackfield then
  return
end
vim.g.loaded_jackfield = true

local actions = { "start", "stop", "status", "claude", "mention", "accept", "reject" }

vim.api.nvim_create_user_command("Jackfield", function(given)
  require("jackfield").command(given)
end, {
  nargs = "*",
  range = true,
  desc = "Be the editor of the interactive claude",
  complete = function(lead)
    return vim.tbl_filter(function(action)
      return vim.startswith(action, lead)
    end, actions)
  end,
})
