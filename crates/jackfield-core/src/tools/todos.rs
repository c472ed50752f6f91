//! Tools that keep the to-do list: `TodoWrite` (the whole list at once), and `TaskCreate`, `TaskUpdate`,
//! `TaskGet`, `TaskList` (one task at a time).
//!
//! Not the list of subagents and background work, which the CLI also calls tasks. The one rule: the list
//! follows results, not wishes: a call that failed changes nothing, and a task is known by the id that its
//! result gave.

use jackfield_api::Json;
use jackfield_api::conversation::{Todo, Todos};
use jackfield_api::normalized::{CreateTask, ManageTodos};

use super::ToolResult;
use super::fields::Fields;

/// The to-do list as the results so far have left it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TodoList {
    items: Vec<Todo>,
}

impl TodoList {
    /// Takes in one result; the list, when that changed it.
    pub(crate) fn apply(&mut self, tool_name: &str, input: &Json, result: &ToolResult<'_>) -> Option<Todos> {
        if result.is_error {
            return None;
        }
        let input = Fields::read(input.get())?;
        let before = self.items.clone();
        match tool_name {
            "TodoWrite" => self.items = written(&input, result)?,
            "TaskCreate" => {
                let id = created_id(result)?;
                self.put(Todo { id, description: subject(&input), status: PENDING.to_owned() });
            }
            "TaskUpdate" => self.update(&input, result)?,
            "TaskGet" => self.put(shown(result)?),
            "TaskList" => self.items = listed(result)?,
            _ => return None,
        }
        (self.items != before).then(|| Todos { items: self.items.clone() })
    }

    fn put(&mut self, todo: Todo) {
        match self.items.iter_mut().find(|item| item.id == todo.id) {
            Some(item) => *item = todo,
            None => self.items.push(todo),
        }
    }

    fn update(&mut self, input: &Fields<'_>, result: &ToolResult<'_>) -> Option<()> {
        let (id, status) = updated(input, result)?;
        if status.as_deref() == Some("deleted") {
            self.items.retain(|item| item.id != id);
            return Some(());
        }
        // A task that an earlier run made is not known before `TaskList` names it.
        let item = self.items.iter_mut().find(|item| item.id == id)?;
        if let Some(subject) = input.text("subject") {
            item.description = subject;
        }
        if let Some(status) = status {
            item.status = status;
        }
        Some(())
    }
}

/// The shape of a `TaskCreate`.
pub(super) fn create(input: &Fields<'_>) -> CreateTask {
    CreateTask { title: subject(input), description: input.text("description").unwrap_or_default(), id: None }
}

/// The shape of a `TodoWrite`.
pub(super) fn write(input: &Fields<'_>) -> ManageTodos {
    manage("write", input.objects("todos").as_deref().map(todos).unwrap_or_default())
}

/// The shape of a `TaskUpdate`.
pub(super) fn update(input: &Fields<'_>) -> ManageTodos {
    let status = input.text("status").unwrap_or_default();
    manage("update", vec![Todo { id: task_id(input), description: subject(input), status }])
}

/// The shape of a `TaskGet`.
pub(super) fn get(input: &Fields<'_>) -> ManageTodos {
    manage("get", vec![Todo { id: task_id(input), description: String::new(), status: String::new() }])
}

/// The shape of a `TaskList`.
pub(super) fn list() -> ManageTodos {
    manage("list", Vec::new())
}

/// Adds the id that the task got.
pub(super) fn complete_create(task: &mut CreateTask, result: &ToolResult<'_>) {
    if !result.is_error {
        task.id = created_id(result);
    }
}

/// Adds what was read.
pub(super) fn complete_manage(manage: &mut ManageTodos, result: &ToolResult<'_>) {
    if result.is_error {
        return;
    }
    let items = match manage.operation.as_str() {
        "write" => result.fields().and_then(|fields| Some(todos(&fields.objects("newTodos")?))),
        "get" => shown(result).map(|todo| vec![todo]),
        "list" => listed(result),
        _ => None,
    };
    if let Some(items) = items {
        manage.items = items;
    }
}

const PENDING: &str = "pending";

fn manage(operation: &str, items: Vec<Todo>) -> ManageTodos {
    ManageTodos { operation: operation.to_owned(), items }
}

fn todos(list: &[Fields<'_>]) -> Vec<Todo> {
    list.iter().enumerate().map(|(index, fields)| todo(fields, index + 1)).collect()
}

fn todo(fields: &Fields<'_>, place: usize) -> Todo {
    // Those of `TodoWrite` have no id and are known by their place [tools/todowrite_env].
    Todo {
        id: fields.id("id").unwrap_or_else(|| place.to_string()),
        description: fields.text("content").unwrap_or_else(|| subject(fields)),
        status: fields.text("status").unwrap_or_else(|| PENDING.to_owned()),
    }
}

fn subject(fields: &Fields<'_>) -> String {
    fields.text("subject").unwrap_or_default()
}

fn task_id(input: &Fields<'_>) -> String {
    input.id("taskId").unwrap_or_default()
}

fn written(input: &Fields<'_>, result: &ToolResult<'_>) -> Option<Vec<Todo>> {
    let told = result.fields().and_then(|fields| fields.objects("newTodos"));
    told.or_else(|| input.objects("todos")).map(|list| todos(&list))
}

/// The new task's id, from the structured result or from `Task #1 created successfully: First`.
fn created_id(result: &ToolResult<'_>) -> Option<String> {
    if let Some(fields) = result.fields() {
        return fields.object("task")?.id("id");
    }
    let text = result.text()?;
    let (id, _) = text.strip_prefix("Task #")?.split_once(" created")?;
    Some(id.to_owned())
}

/// Which task was updated, and its new status if it got one.
fn updated(input: &Fields<'_>, result: &ToolResult<'_>) -> Option<(String, Option<String>)> {
    let asked = input.text("status");
    if let Some(fields) = result.fields() {
        let id = fields.id("taskId").or_else(|| input.id("taskId"))?;
        let told = fields.object("statusChange").and_then(|change| change.text("to"));
        // An unknown task is no error, only no success [tools/tasks_tools].
        return fields.flag("success").then(|| (id, told.or(asked)));
    }
    let done = result.text().is_some_and(|text| text.starts_with("Updated task"));
    done.then(|| input.id("taskId")).flatten().map(|id| (id, asked))
}

fn shown(result: &ToolResult<'_>) -> Option<Todo> {
    let task = result.fields()?.object("task")?;
    task.id("id")?;
    Some(todo(&task, 1))
}

/// All tasks, from the structured result or from lines like `#1 [in_progress] First`.
fn listed(result: &ToolResult<'_>) -> Option<Vec<Todo>> {
    if let Some(fields) = result.fields() {
        return fields.objects("tasks").map(|tasks| todos(&tasks));
    }
    let text = result.text()?;
    let tasks: Vec<Todo> = text.lines().filter_map(listed_line).collect();
    (!tasks.is_empty()).then_some(tasks)
}

fn listed_line(line: &str) -> Option<Todo> {
    let (id, rest) = line.strip_prefix('#')?.split_once(" [")?;
    let (status, description) = rest.split_once("] ")?;
    Some(Todo { id: id.to_owned(), description: description.to_owned(), status: status.to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn apply(
        list: &mut TodoList,
        tool: &str,
        input: &str,
        content: &str,
        structured: Option<&str>,
    ) -> Option<String> {
        let content = Json::of(content);
        let result = ToolResult { content: Some(content.get()), structured, is_error: false };
        let todos = list.apply(tool, &Json::parse(input.to_owned()).unwrap(), &result)?;
        let line = |todo: &Todo| format!("{} {} {}", todo.id, todo.status, todo.description);
        Some(todos.items.iter().map(line).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn tasks_are_created_and_updated_by_id() {
        // [tools/tasks_tools]
        let mut list = TodoList::default();
        let mut step =
            |tool: &str, input: &str, structured: &str| apply(&mut list, tool, input, "", Some(structured));
        let create = r#"{"subject":"First","description":"Do first","activeForm":"Doing first"}"#;
        assert_eq!(
            step("TaskCreate", create, r#"{"task":{"id":"1","subject":"First"}}"#).unwrap(),
            "1 pending First"
        );
        let success = r#"{"success":true,"taskId":"1","updatedFields":["status"],
            "statusChange":{"from":"pending","to":"in_progress"}}"#;
        let start = r#"{"taskId":"1","status":"in_progress"}"#;
        assert_eq!(step("TaskUpdate", start, success).unwrap(), "1 in_progress First");
        assert_eq!(step("TaskUpdate", start, success), None);
        let unknown = r#"{"success":false,"taskId":"99","updatedFields":[],"error":"Task not found"}"#;
        assert_eq!(step("TaskUpdate", r#"{"taskId":"99","status":"completed"}"#, unknown), None);
        let tasks = r#"{"tasks":[{"id":"1","subject":"First","status":"in_progress","blockedBy":[]}]}"#;
        assert_eq!(step("TaskList", "{}", tasks), None);
        let task = r#"{"task":{"id":"2","subject":"Second","description":"x","status":"pending"}}"#;
        assert_eq!(
            step("TaskGet", r#"{"taskId":"2"}"#, task).unwrap(),
            "1 in_progress First; 2 pending Second"
        );
        let deleted = r#"{"success":true,"taskId":"1","updatedFields":["deleted"]}"#;
        assert_eq!(
            step("TaskUpdate", r#"{"taskId":"1","status":"deleted"}"#, deleted).unwrap(),
            "2 pending Second"
        );
    }

    #[test]
    fn without_structured_results_the_sentences_tell_the_same() {
        // The content of [tools/tasks_tools].
        let mut list = TodoList::default();
        let mut step = |tool: &str, input: &str, content: &str| apply(&mut list, tool, input, content, None);
        assert_eq!(
            step("TaskCreate", r#"{"subject":"First"}"#, "Task #1 created successfully: First").unwrap(),
            "1 pending First"
        );
        let complete = r#"{"taskId":"1","status":"completed"}"#;
        assert_eq!(step("TaskUpdate", complete, "Task not found"), None);
        assert_eq!(step("TaskUpdate", complete, "Updated task #1 status").unwrap(), "1 completed First");
        assert_eq!(
            step("TaskList", "{}", "#1 [in_progress] First\n#2 [pending] Second").unwrap(),
            "1 in_progress First; 2 pending Second"
        );
    }

    #[test]
    fn a_todo_write_replaces_the_whole_list() {
        // [tools/todowrite_env]
        let mut list = TodoList::default();
        let input = r#"{"todos":[{"content":"x","status":"pending","activeForm":"X"}]}"#;
        let structured =
            r#"{"oldTodos":[],"newTodos":[{"content":"x","status":"pending","activeForm":"X"}]}"#;
        assert_eq!(apply(&mut list, "TodoWrite", input, "ok", Some(structured)).unwrap(), "1 pending x");
        assert_eq!(apply(&mut list, "TodoWrite", input, "ok", None), None);
        assert_eq!(apply(&mut list, "TodoWrite", r#"{"todos":[]}"#, "ok", None).unwrap(), "");
    }

    #[test]
    fn a_call_that_failed_changes_nothing() {
        // [tools/glob_grep_todowrite_absent]
        let mut list = TodoList::default();
        let input = Json::parse(r#"{"todos":[{"content":"x"}]}"#.to_owned()).unwrap();
        let result = ToolResult { content: Some(r#""No such tool""#), structured: None, is_error: true };
        assert_eq!(list.apply("TodoWrite", &input, &result), None);
        assert!(list.items.is_empty());
    }

    #[test]
    fn shapes_are_completed_from_results() {
        let result = |structured| ToolResult { content: None, structured: Some(structured), is_error: false };
        let mut task = create(&Fields::read(r#"{"subject":"s","description":"d"}"#).unwrap());
        complete_create(&mut task, &result(r#"{"task":{"id":"1","subject":"s"}}"#));
        assert_eq!(
            task,
            CreateTask { title: "s".to_owned(), description: "d".to_owned(), id: Some("1".to_owned()) }
        );
        let mut all = list();
        complete_manage(&mut all, &result(r#"{"tasks":[{"id":"1","subject":"First","status":"pending"}]}"#));
        assert_eq!(all.items.len(), 1);
        let mut one = update(&Fields::read(r#"{"taskId":1,"status":"completed"}"#).unwrap());
        complete_manage(&mut one, &result(r#"{"success":true}"#));
        assert_eq!((one.items[0].id.as_str(), one.items[0].status.as_str()), ("1", "completed"));
    }
}
