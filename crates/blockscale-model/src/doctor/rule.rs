//! A rule: what it is called, how much it matters, and the page that explains it.

use crate::finding::Severity;

/// Something that can be wrong with a checkpoint.
///
/// The page is Markdown and the only source of every word about the rule: the first line is
/// `# CODE name: title`, then comes what it means, then sections. The paragraph under `## Runtime`
/// says what consumers do with such a checkpoint, the one under `## Fix` what to do; a diagnosis
/// prints both.
///
/// ```
/// use blockscale_model::Severity;
/// use blockscale_model::doctor::Rule;
///
/// static ODD_ROWS: Rule = Rule {
///     code: "MY001",
///     name: "odd-rows",
///     severity: Severity::Warning,
///     page: "# MY001 odd-rows: a matrix has an odd number of rows\n\n## Fix\n\nPad it.\n",
/// };
/// assert_eq!(ODD_ROWS.title(), "a matrix has an odd number of rows");
/// assert_eq!(ODD_ROWS.paragraph("Fix").as_deref(), Some("Pad it."));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A stable number, `BS001`.
    pub code: &'static str,
    /// A stable name, `index-omits-tensor`.
    pub name: &'static str,
    /// How much it matters, unless a diagnosis says otherwise.
    pub severity: Severity,
    /// The page.
    pub page: &'static str,
}

impl Rule {
    /// What the first line of the page says behind code and name.
    pub fn title(&self) -> &'static str {
        let first = self.page.lines().next().unwrap_or_default();
        first.split_once(": ").map_or("", |(_, title)| title)
    }

    /// The first paragraph under `## heading`, as one line.
    pub fn paragraph(&self, heading: &str) -> Option<String> {
        let mut lines = self.page.lines();
        lines.find(|line| line.strip_prefix("## ") == Some(heading))?;
        let paragraph: Vec<&str> = lines
            .map(str::trim)
            .skip_while(|line| line.is_empty())
            .take_while(|line| !line.is_empty() && !line.starts_with("## "))
            .collect();
        (!paragraph.is_empty()).then(|| paragraph.join(" "))
    }

    /// Whether `word` is the rule's code or name.
    pub fn is(&self, word: &str) -> bool {
        self.code.eq_ignore_ascii_case(word) || self.name == word
    }
}
