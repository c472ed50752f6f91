//! An answer that uses most of Markdown.

use super::Stage;
use crate::demo::step::{Step, say};

const ANSWER: &str = r#"## An answer with everything in it

Some *emphasis*, some **weight**, some `code`, a [link](https://example.org/) and ~~a mistake~~.

| part | what it does | state |
|:-----|:-------------|------:|
| `wire` | reads the CLI's lines | 100 % |
| `core` | makes events of them | 100 % |
| page | shows them | 97 % |

1. First this,
2. then that:
   - with a detail,
   - and another one.

> A jackfield is the panel where any line can be plugged into any other.

- [x] a table
- [x] a quotation
- [ ] a formula

```rust
/// Adds, and says so.
pub fn add(left: u32, right: u32) -> u32 {
    let sum = left + right;
    println!("{left} + {right} = {sum}");
    sum
}
```

```diff
- an old line
+ a new line
```
"#;

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    vec![say(ANSWER)]
}
