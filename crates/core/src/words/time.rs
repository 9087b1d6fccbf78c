//! Time as data: milliseconds since 1970, stamped onto commands by the engine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, in milliseconds since 1970-01-01 UTC. Shown as RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

const DAY_MS: u64 = 86_400_000;
/// The last time with a four-digit year; RFC 3339 has no form for later ones.
const LAST_MS: u64 = 253_402_300_799_999;

impl Timestamp {
    /// The time this many milliseconds later.
    #[must_use]
    pub fn after(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds).min(LAST_MS))
    }

    /// The time as RFC 3339 in UTC with milliseconds, which always has 24 bytes.
    pub fn text(self) -> [u8; 24] {
        let milliseconds = self.0.min(LAST_MS);
        let (year, month, day) = date_of(milliseconds / DAY_MS);
        let rest = milliseconds % DAY_MS;
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let numbers = [
            (3, 4, year),
            (6, 2, month),
            (9, 2, day),
            (12, 2, rest / 3_600_000),
            (15, 2, rest / 60_000 % 60),
            (18, 2, rest / 1_000 % 60),
            (22, 3, rest % 1_000),
        ];
        for (last, digits, mut number) in numbers {
            for place in 0..digits {
                text[last - place] += (number % 10) as u8;
                number /= 10;
            }
        }
        text
    }

    /// Parses a time in common forms: RFC 3339 with or without a fraction and in any zone, or a
    /// date alone, which means its start in UTC.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a time such as `2026-01-31T12:00:00Z`");
        if !text.is_ascii() || text.len() > 40 {
            let shown: String = text.chars().take(40).collect();
            return Err(format!("`{shown}` is not a time such as `2026-01-31T12:00:00Z`"));
        }
        let Some((date, rest)) = text.split_once(['T', 't', ' ']) else {
            return format!("{text}T00:00:00.000Z").parse().map_err(|_| wrong());
        };
        let zone = rest.find(['Z', 'z', '+', '-']).ok_or_else(wrong)?;
        let (clock, zone) = rest.split_at(zone);
        let (seconds, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let milliseconds = &format!("{fraction}00")[..3];
        let local = format!("{date}T{seconds}.{milliseconds}Z").parse::<Self>();
        let (local, east_ms) = (local.map_err(|_| wrong())?.0, east_ms(zone).ok_or_else(wrong)?);
        let moment = local.checked_add_signed(-east_ms).filter(|moment| *moment <= LAST_MS);
        moment.map(Self).ok_or_else(wrong)
    }

    /// Milliseconds from `earlier` to this time; 0 if that was later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The offset of a zone such as `Z` or `+02:30` from UTC.
fn east_ms(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, offset) = zone.split_at(1);
    let (hours, minutes) = offset.split_once(':').filter(|_| offset.len() == 5)?;
    let (hours, minutes) = (hours.parse::<u32>().ok()?, minutes.parse::<u32>().ok()?);
    let east = i64::from((hours * 60 + minutes) * 60_000);
    (hours < 24 && minutes < 60).then_some(if sign == "-" { -east } else { east })
}

/// Year, month and day of a day count, after Howard Hinnant's `civil_from_days`: years begin in
/// March there, so that the leap day is the last of its year.
fn date_of(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// The inverse of [`date_of`], for years from 1970.
fn days_of(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let year_of_era = year % 400;
    let month_index = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_index + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(str::from_utf8(&self.text()).expect("digits and signs are UTF-8"))
    }
}

impl FromStr for Timestamp {
    type Err = String;

    /// Parses exactly the form that is shown: UTC, with milliseconds.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a time such as `2026-01-31T12:00:00.000Z`");
        let bytes = text.as_bytes();
        if bytes.len() != 24 || !text.is_ascii() {
            return Err(wrong());
        }
        let number = |from: usize, to: usize| text[from..to].parse::<u64>().map_err(|_| wrong());
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute) = (number(11, 13)?, number(14, 16)?);
        let (second, milli) = (number(17, 19)?, number(20, 23)?);
        if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 {
            return Err(wrong());
        }
        if minute > 59 || second > 59 {
            return Err(wrong());
        }
        let in_day = hour * 3_600_000 + minute * 60_000 + second * 1_000 + milli;
        let moment = Self(days_of(year, month, day) * DAY_MS + in_day);
        // Formatting it again detects every other mistake: separators and the 30th of February.
        if moment.to_string() == text { Ok(moment) } else { Err(wrong()) }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            let text = self.text();
            serializer.serialize_str(str::from_utf8(&text).expect("digits and signs are UTF-8"))
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            text.parse().map_err(serde::de::Error::custom)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_and_reads_rfc_3339() {
        for (milliseconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_700_800_123, "2026-11-15T00:00:00.123Z"),
            (LAST_MS, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp(milliseconds).to_string(), text);
            assert_eq!(text.parse(), Ok(Timestamp(milliseconds)));
        }
    }

    #[test]
    fn refuses_invalid_moments() {
        for bad in [
            "",
            "2026-02-30T00:00:00.000Z",
            "2026-01-01 00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:00:00Z",
            "1969-12-31T23:59:59.999Z",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    #[test]
    fn reads_what_others_write() {
        let noon = 1_769_860_800_000;
        for (text, milliseconds) in [
            ("2026-01-31", noon - DAY_MS / 2),
            ("2026-01-31T12:00:00Z", noon),
            ("2026-01-31 12:00:00.5z", noon + 500),
            ("2026-01-31T12:00:00.123456Z", noon + 123),
            ("2026-01-31T05:00:00-07:00", noon),
            ("2026-02-01T00:00:00+12:00", noon),
        ] {
            assert_eq!(Timestamp::read(text), Ok(Timestamp(milliseconds)), "{text}");
        }
        for bad in [
            "",
            "now",
            "2026",
            "2026-01-31T12:00:00",
            "2026-01-31T12:00:00.Z",
            "2026-01-31T12:00Z",
            "2026-01-31T12:00:00+2:00",
            "2026-01-31T12:00:00+25:00",
            "2026-01-31T12:00:00+０2:00",
            "1970-01-01T00:00:00+01:00",
            "2026-01-31T12:00:00.1x3Z",
            "2026-02-30",
        ] {
            assert!(Timestamp::read(bad).is_err(), "{bad}");
        }
    }
}
