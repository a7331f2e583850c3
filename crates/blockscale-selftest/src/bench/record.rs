//! Reports as files, to be compared with later ones.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{BenchReport, BenchRow};

/// Why a recorded report cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("not a recorded bench: {0}")]
pub struct RecordError(String);

/// Lines before the table.
const ENGINE: &str = "# blockscale bench: ";
const PAGES: &str = "# pages: ";
const MACHINE: &str = "# machine: ";

impl BenchReport {
    /// The report as comma-separated values, after lines that say what it is of.
    pub fn to_csv(&self) -> String {
        let mut text = format!("{ENGINE}{}\n", self.engine);
        for (start, value) in [(MACHINE, &self.machine), (PAGES, &self.pages)] {
            if let Some(value) = value {
                text.push_str(&format!("{start}{value}\n"));
            }
        }
        let mut table = csv::Writer::from_writer(Vec::new());
        // A vector takes what it is given, and rows hold only numbers and text.
        let written = self.rows.iter().try_for_each(|row| table.serialize(row));
        debug_assert!(written.is_ok());
        let table = table.into_inner().unwrap_or_default();
        text.push_str(&String::from_utf8_lossy(&table));
        text
    }

    /// Reads what [`to_csv`](Self::to_csv) wrote.
    ///
    /// # Errors
    ///
    /// [`RecordError`], which says what is missing.
    pub fn from_csv(text: &str) -> Result<Self, RecordError> {
        let line = |start| {
            let found = text.lines().find_map(|line| line.strip_prefix(start));
            found.map(str::to_owned)
        };
        let engine = line(ENGINE).ok_or_else(|| RecordError(format!("no line `{ENGINE}`")))?;
        let mut table = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let rows = table.deserialize().collect::<Result<Vec<BenchRow>, _>>();
        Ok(Self {
            engine,
            machine: line(MACHINE),
            pages: line(PAGES),
            rows: rows.map_err(|error| RecordError(error.to_string()))?,
        })
    }

    /// A file name for a report of today: `x86_64-2026-01-31.csv`.
    pub fn file_name(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let days = now.map_or(0, |time| time.as_secs() / 86_400);
        let (year, month, day) = date(days);
        let kind = match self.engine.starts_with("CPU") {
            true => std::env::consts::ARCH,
            false => "cuda",
        };
        format!("{kind}-{year}-{month:02}-{day:02}.csv")
    }
}

/// Year, month and day, so many days after 1970 began.
fn date(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> BenchReport {
        let one = BenchRow::new(
            "NVFP4 -> FP8, one pass",
            "8x\"8\"".to_owned(),
            3 << 20,
            1.0 / 3.0,
        )
        .on("AVX2", 1)
        .beside("copy in memory", 2.5e7, Some(0.5));
        let all = BenchRow::new("x", String::new(), 7, 0.1)
            .on("", 2)
            .beside("copy", 100.0, None)
            .over(&one);
        let plain = BenchRow::new("copy on the device", "1".to_owned(), 7, 1e-9);
        BenchReport {
            engine: "CPU, 2 threads".to_owned(),
            machine: Some("a processor".to_owned()),
            pages: None,
            rows: vec![one, all, plain],
        }
    }

    #[test]
    fn a_report_comes_back_from_its_table_bit_for_bit() {
        let report = report();
        assert_eq!(BenchReport::from_csv(&report.to_csv()).unwrap(), report);
    }

    #[test]
    fn a_table_without_an_engine_or_of_other_columns_is_refused() {
        let text = report().to_csv();
        let headless: String = text.lines().skip(1).collect::<Vec<_>>().join("\n");
        assert!(BenchReport::from_csv(&headless).is_err());
        assert!(BenchReport::from_csv(&text.replace("seconds", "hours")).is_err());
    }

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(date(59), (1970, 3, 1));
        assert_eq!(date(789), (1972, 2, 29));
        assert_eq!(date(11_016), (2000, 2, 29));
        assert_eq!(date(20_788), (2026, 12, 1));
    }
}
