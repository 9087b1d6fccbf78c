//! Draws the model. This code neither decides nor remembers anything.
//!
//! ```text
//!   ┌ header: workspace, connection, server, changes per second ┐
//!   │ agents     │ tasks: one row each, and a bar               │
//!   │ hand-offs  │                                              │
//!   │ locks      │ events, newest first                         │
//!   └ footer: keys, or a message                                ┘
//! ```
//!
//! The layout fits 80 by 24 characters and grows: the left column a little, the rest a lot. Colour
//! carries no information that text or a symbol does not carry too.

use baton_core::names::short;
use baton_core::task::{Counts, Status};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, List, ListItem, ListState, Paragraph, Wrap};

use super::model::{AgentRow, EventRow, HandoffRow, Link, LockRow, Mode, Model, Panel, TaskRow};

/// Seconds shown in the chart of the header.
const CHART_CELLS: usize = 16;

/// The styles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) is_coloured: bool,
}

impl Theme {
    fn colour(self, colour: Color) -> Style {
        if self.is_coloured { Style::new().fg(colour) } else { Style::new() }
    }

    fn faint(self) -> Style {
        if self.is_coloured { Style::new().fg(Color::DarkGray) } else { Style::new().dim() }
    }

    fn good(self) -> Style {
        self.colour(Color::Green)
    }

    fn bad(self) -> Style {
        self.colour(Color::Red).bold()
    }

    fn accent(self) -> Style {
        self.colour(Color::Cyan)
    }

    fn of_status(self, row: &TaskRow) -> Style {
        match row.status {
            Status::InProgress => self.colour(Color::Cyan),
            Status::HandedOff => self.colour(Color::Magenta),
            Status::WaitingReview => self.colour(Color::Yellow).bold(),
            Status::Completed => self.good(),
            Status::Failed => self.bad(),
            Status::Cancelled => self.faint(),
            Status::Pending if row.is_blocked => self.faint(),
            Status::Pending => self.colour(Color::Blue),
        }
    }

    /// The colour of an event type.
    fn of_kind(self, kind: &str) -> Style {
        let (noun, verb) = kind.split_once('.').unwrap_or((kind, ""));
        match (noun, verb) {
            (_, "failed" | "lost" | "expired" | "rejected" | "cancelled") => self.bad(),
            (_, "completed" | "accepted" | "joined") => self.good(),
            ("handoff", _) => self.colour(Color::Magenta),
            ("topic" | "message", _) => self.colour(Color::Yellow),
            _ => self.accent(),
        }
    }
}

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, theme: Theme) {
    let rows = [Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)];
    let [head, body, foot] = Layout::vertical(rows).areas(frame.area());
    draw_head(frame, head, model, theme);
    draw_foot(frame, foot, model, theme);
    let left_width = (body.width * 3 / 10).clamp(22, 40);
    let [left, right] =
        Layout::horizontal([Constraint::Length(left_width), Constraint::Min(20)]).areas(body);
    let agents = u16::try_from(model.snapshot.agents.len()).unwrap_or(u16::MAX).saturating_add(2);
    let agents = agents.clamp(4, (left.height / 2).max(4));
    let rows = [Constraint::Length(agents), Constraint::Fill(1), Constraint::Fill(1)];
    let [agents, handoffs, locks] = Layout::vertical(rows).areas(left);
    let [tasks, events] = Layout::vertical([Constraint::Fill(3), Constraint::Fill(2)]).areas(right);
    draw_agents(frame, agents, model, theme);
    draw_handoffs(frame, handoffs, model, theme);
    draw_locks(frame, locks, model, theme);
    draw_tasks(frame, tasks, model, theme);
    draw_events(frame, events, model, theme);
    match &model.mode {
        Mode::Details { title, lines, scrolled } => {
            let lines = lines.iter().map(|line| Line::from(line.as_str())).collect();
            popup(frame, theme, (title, "esc to close, ↑↓ to scroll"), lines, *scrolled);
        }
        Mode::Help => popup(frame, theme, ("Help", "press any key to close"), help(), 0),
        Mode::Browsing | Mode::Filtering | Mode::Confirming(_) => {}
    }
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let name = Span::styled(" baton top ", theme.accent().add_modifier(Modifier::REVERSED).bold());
    let workspace = Span::from(format!(" {} ", model.snapshot.workspace)).bold();
    let link = match &model.link {
        Link::Live => Span::styled("● live", theme.good()),
        Link::Unreachable { reason } => {
            Span::styled(format!("◌ reconnecting: {reason}"), theme.bad())
        }
    };
    let revision = Span::styled(format!("  revision {}", model.snapshot.revision), theme.faint());
    let mut left = vec![name, workspace, link];
    if model.link == Link::Live {
        left.push(revision);
    }
    if area.width >= 110 {
        left.push(Span::styled(format!("  {}", model.server), theme.faint()));
    }
    frame.render_widget(Line::from(left), area);
    let rate = rate(model);
    let chart = chart(model);
    let right = Line::from(vec![
        Span::styled(chart, theme.accent()),
        Span::from(format!(" {rate}/s ")).bold(),
    ]);
    if model.link == Link::Live && area.width >= 70 {
        frame.render_widget(right.right_aligned(), area);
    }
}

/// Changes in the last full second.
fn rate(model: &Model) -> u64 {
    model.changes.iter().rev().nth(1).copied().unwrap_or_default()
}

/// A chart of the last seconds, scaled to the maximum.
fn chart(model: &Model) -> String {
    let whole = model.changes.len().saturating_sub(1);
    let shown: Vec<u64> =
        model.changes.iter().take(whole).rev().take(CHART_CELLS).copied().collect();
    let most = shown.iter().copied().max().unwrap_or_default().max(1);
    let blocks: Vec<char> = "▁▂▃▄▅▆▇█".chars().collect();
    let block = |count: u64| {
        let place = usize::try_from(count * 7 / most).unwrap_or(7);
        if count == 0 { ' ' } else { blocks[place.min(7)] }
    };
    shown.into_iter().rev().map(block).collect()
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let line = match (&model.mode, &model.message) {
        (Mode::Confirming(action), _) => Line::from(vec![
            Span::styled(format!(" {} ", action.question()), theme.colour(Color::Yellow).bold()),
            Span::from("y/n"),
        ]),
        (Mode::Filtering, _) => Line::from(vec![
            Span::styled(" / ", theme.accent().bold()),
            Span::from(format!("{}▏", model.filter)),
            Span::styled(
                "  words, status:failed, -agent:bob; enter to apply, esc to clear",
                theme.faint(),
            ),
        ]),
        (_, Some((message, is_bad))) => {
            let style = if *is_bad { theme.bad() } else { theme.good() };
            Line::styled(format!(" {message}"), style)
        }
        (_, None) => keys_line(model, theme, area.width),
    };
    frame.render_widget(line, area);
}

fn keys_line(model: &Model, theme: Theme, width: u16) -> Line<'static> {
    let gap = if width >= 100 { "  " } else { " " };
    let keys = [
        ("tab", "panel"),
        ("↑↓", "row"),
        ("⏎", "details"),
        ("/", "filter"),
        ("r", "retry"),
        ("c", "cancel"),
        ("u", "release"),
        ("?", "help"),
        ("q", "quit"),
    ];
    let mut spans = vec![Span::from(" ")];
    if !model.filter.is_empty() {
        let filter = format!("filter: {}", model.filter);
        spans.push(Span::styled(filter, theme.colour(Color::Yellow).bold()));
        spans.push(Span::styled(" │ ", theme.faint()));
    }
    for (key, meaning) in keys {
        spans.push(Span::styled(key, theme.accent().bold()));
        spans.push(Span::styled(format!(" {meaning}{gap}"), theme.faint()));
    }
    Line::from(spans)
}

/// The border of a panel; the focused panel has a thick border.
fn block(model: &Model, theme: Theme, panel: Panel, title: Line<'static>) -> Block<'static> {
    let is_focused = model.panel == panel;
    let style = if is_focused { theme.accent() } else { theme.faint() };
    let border = if is_focused { BorderType::Thick } else { BorderType::Rounded };
    Block::bordered().border_type(border).border_style(style).title(title)
}

fn draw_rows(
    frame: &mut Frame<'_>,
    area: Rect,
    (model, theme, panel): (&Model, Theme, Panel),
    title: Line<'static>,
    rows: Vec<Line<'static>>,
    empty: &'static str,
) {
    let block = block(model, theme, panel, title);
    if rows.is_empty() {
        let words = if model.filter.is_empty() { empty } else { "no matches" };
        frame.render_widget(Paragraph::new(words).style(theme.faint()).block(block), area);
        return;
    }
    let is_focused = model.panel == panel;
    let selected = model.selected_row(panel);
    let rows = rows.into_iter().enumerate().map(|(place, row)| {
        // The selected row is one solid bar: reversing each colour separately would look broken.
        let is_marked = is_focused && selected == Some(place);
        ListItem::new(if is_marked { Line::from(row.to_string()) } else { row })
    });
    let highlight = if is_focused { Style::new().reversed() } else { Style::new() };
    let list = List::new(rows).block(block).highlight_style(highlight);
    let mut state = ListState::default().with_selected(selected);
    frame.render_stateful_widget(list, area, &mut state);
}

fn titled(name: &str, count: usize, theme: Theme) -> Line<'static> {
    let count = if count == 0 { String::new() } else { format!("{count} ") };
    Line::from(vec![heading(format!(" {name} ")), Span::styled(count, theme.faint())])
}

/// Bold, in the text colour instead of the border colour.
fn heading(text: String) -> Span<'static> {
    Span::styled(text, Style::new().fg(Color::Reset).bold())
}

fn draw_agents(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let alive = model.snapshot.agents.iter().filter(|row| row.is_alive).count();
    let rows = model.shown_agents().map(|row| agent_line(row, model, theme)).collect();
    let title = titled("Agents", alive, theme);
    draw_rows(frame, area, (model, theme, Panel::Agents), title, rows, "no agents");
}

fn agent_line(row: &AgentRow, model: &Model, theme: Theme) -> Line<'static> {
    let (mark, style) = match (row.is_alive, row.is_lost) {
        (true, _) => ("●", theme.good()),
        (false, true) => ("✗", theme.bad()),
        (false, false) => ("○", theme.faint()),
    };
    let held: Vec<String> = model.held_by(&row.id).into_iter().map(short).collect();
    let held = held.join(" ");
    let state = match (row.is_alive, row.is_lost) {
        (false, true) => Span::styled(row.status(), theme.bad()),
        (false, false) => Span::styled(row.status(), theme.faint()),
        (true, _) if held.is_empty() => Span::styled(row.role.clone(), theme.faint()),
        (true, _) => Span::styled(held, theme.accent()),
    };
    let id = Span::from(format!(" {:<5} ", row.id)).bold();
    Line::from(vec![Span::styled(mark, style), id, state])
}

fn draw_handoffs(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let rows: Vec<_> = model.shown_handoffs().map(|row| handoff_line(row, theme)).collect();
    let title = titled("Hand-offs", rows.len(), theme);
    draw_rows(frame, area, (model, theme, Panel::Handoffs), title, rows, "no open hand-offs");
}

fn handoff_line(row: &HandoffRow, theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::from(row.from.clone()).bold(),
        Span::styled(" → ", theme.colour(Color::Magenta)),
        Span::from(format!("{} ", row.to)).bold(),
        Span::styled(short(&row.task), theme.faint()),
        Span::styled(format!(" {}", row.status), theme.colour(Color::Magenta)),
    ])
}

fn draw_locks(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let rows: Vec<_> = model.shown_locks().map(|row| lock_line(row, model, theme)).collect();
    let title = titled("Locks", rows.len(), theme);
    draw_rows(frame, area, (model, theme, Panel::Locks), title, rows, "no locks held");
}

fn lock_line(row: &LockRow, model: &Model, theme: Theme) -> Line<'static> {
    let mut spans = vec![
        Span::from(format!("{} ", row.name)),
        Span::from(row.holder.clone()).bold(),
        Span::styled(time_left(row.until_ms, model), theme.faint()),
    ];
    if !row.waiters.is_empty() {
        spans.push(Span::styled(" ◂ ", theme.colour(Color::Yellow)));
        spans.push(Span::styled(row.waiters.join(", "), theme.colour(Color::Yellow)));
    }
    if row.is_deadlocked {
        spans.push(Span::styled(" deadlock", theme.bad()));
    }
    Line::from(spans)
}

fn draw_tasks(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let title = task_title(&model.snapshot.counts, theme);
    let inner = area.width.saturating_sub(2);
    let rows = model.shown_tasks().map(|row| task_line(row, model, theme, inner)).collect();
    let empty = "no tasks; try `baton task add` or `baton demo`";
    draw_rows(frame, area, (model, theme, Panel::Tasks), title, rows, empty);
    let bar = Rect {
        x: area.x + 2,
        y: area.bottom().saturating_sub(1),
        width: inner.saturating_sub(2),
        height: 1,
    };
    frame.render_widget(counts_bar(&model.snapshot.counts, theme, usize::from(bar.width)), bar);
}

/// The counts, each in the colour of its segment of the bar.
fn parts(counts: &Counts, theme: Theme) -> [(&'static str, u64, Style); 6] {
    let waiting = counts.blocked + counts.delayed;
    [
        ("done", counts.completed, theme.good()),
        ("working", counts.in_progress + counts.handed_off, theme.accent()),
        ("failed", counts.failed, theme.bad()),
        ("review", counts.waiting_review, theme.colour(Color::Yellow)),
        ("ready", counts.ready, theme.colour(Color::Blue)),
        ("blocked", waiting, theme.faint()),
    ]
}

fn task_title(counts: &Counts, theme: Theme) -> Line<'static> {
    let mut spans = vec![heading(" Tasks ".to_owned())];
    for (name, count, style) in parts(counts, theme) {
        // Zero counts are omitted, except the most important ones.
        if count > 0 || matches!(name, "done" | "working") {
            spans.push(Span::styled(format!("{count} {name} "), style));
        }
    }
    Line::from(spans)
}

/// A bar with a segment per status; every nonzero count has at least one cell.
fn counts_bar(counts: &Counts, theme: Theme, cells: usize) -> Line<'static> {
    let parts = parts(counts, theme);
    let all: u64 = parts.iter().map(|(_, count, _)| count).sum();
    if all == 0 {
        return Line::default();
    }
    let share = |count: u64| usize::try_from(count * cells as u64 / all).unwrap_or(cells);
    let mut widths: Vec<usize> =
        parts.iter().map(|(_, count, _)| share(*count).max(usize::from(*count > 0))).collect();
    // The widest segment absorbs the rounding error.
    let sum: usize = widths.iter().sum();
    if let Some(widest) = widths.iter_mut().max() {
        *widest = (*widest + cells).saturating_sub(sum);
    }
    let signs = ["█", "▓", "▚", "▞", "▒", "░"];
    let spans = parts.iter().zip(widths).zip(signs);
    let spans = spans.map(|(((_, _, style), width), sign)| {
        let sign = if theme.is_coloured { "━" } else { sign };
        Span::styled(sign.repeat(width), *style)
    });
    Line::from(spans.collect::<Vec<_>>())
}

fn task_line(row: &TaskRow, model: &Model, theme: Theme, width: u16) -> Line<'static> {
    let style = theme.of_status(row);
    let is_wide = width >= 70;
    let id_width = if is_wide { 24 } else { 17 };
    let (mark, word) = row.shown_status();
    let mut spans = vec![
        Span::styled(format!("{mark} "), style),
        Span::from(format!("{} ", cut(&short(&row.id), id_width))),
        Span::styled(format!("{} ", cut(word, 7)), style),
    ];
    if is_wide {
        spans.insert(2, Span::styled(format!("{} ", cut(&row.kind, 9)), theme.faint()));
    }
    let holder = row.holder.as_deref().unwrap_or_default();
    spans.push(Span::from(format!("{} ", cut(holder, 5))).bold());
    spans.extend(progress(row, theme, if is_wide { 10 } else { 6 }));
    if let Some(until_ms) = row.lease_until_ms {
        spans.push(Span::styled(time_left(until_ms, model), theme.faint()));
    }
    if row.tries > 1 {
        let tries =
            if is_wide { format!(" try {}", row.tries) } else { format!(" ×{}", row.tries) };
        spans.push(Span::styled(tries, theme.colour(Color::Yellow)));
    }
    if is_wide && !row.note.is_empty() {
        spans.push(Span::styled(format!("  {}", row.note), theme.faint()));
    }
    Line::from(spans)
}

/// The time until a lease or a lock expires.
fn time_left(until_ms: u64, model: &Model) -> String {
    let left_ms = until_ms.saturating_sub(model.now_ms);
    if left_ms < 100_000 {
        format!(" {:>4.1}s", f64::from(u32::try_from(left_ms).unwrap_or(0)) / 1_000.0)
    } else {
        format!(" {:>4}m", left_ms / 60_000)
    }
}

/// A progress bar with a resolution of an eighth of a cell.
fn progress(row: &TaskRow, theme: Theme, cells: usize) -> Vec<Span<'static>> {
    let Some(fraction) = row.fraction.filter(|_| row.status != Status::Pending) else {
        return vec![Span::from(" ".repeat(cells + 5))];
    };
    let fraction = fraction.clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 0 to 100")]
    let percent = (fraction * 100.0).round() as usize;
    let eighths = percent * cells * 8 / 100;
    let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let mut full = "█".repeat(eighths / 8);
    full.push_str(parts[eighths % 8]);
    let rest = "·".repeat(cells - eighths.div_ceil(8));
    vec![
        Span::styled(full, theme.of_status(row)),
        Span::styled(rest, theme.faint()),
        Span::styled(format!(" {percent:>3}%"), theme.faint()),
    ]
}

/// Pads or truncates to a width.
fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return format!("{text}{}", " ".repeat(width - length));
    }
    let mut shown: String = text.chars().take(width.saturating_sub(1)).collect();
    shown.push('…');
    shown
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, model: &Model, theme: Theme) {
    let rows = model.shown_events().map(|row| event_line(row, theme)).collect();
    let title = titled("Events", 0, theme);
    draw_rows(
        frame,
        area,
        (model, theme, Panel::Events),
        title,
        rows,
        "no events since the start of top",
    );
}

fn event_line(row: &EventRow, theme: Theme) -> Line<'static> {
    let clock = row.time.get(11..19).unwrap_or_default().to_owned();
    let subject = row.subject.split_once('/').map_or(row.subject.as_str(), |(_, rest)| rest);
    Line::from(vec![
        Span::styled(format!("{clock} "), theme.faint()),
        Span::from(format!("{} ", cut(&row.agent, 5))).bold(),
        Span::styled(format!("{} ", cut(&row.kind, 17)), theme.of_kind(&row.kind)),
        Span::from(short(subject)),
        Span::styled(format!("  {}", row.fields), theme.faint()),
    ])
}

fn popup(
    frame: &mut Frame<'_>,
    theme: Theme,
    (title, foot): (&str, &'static str),
    lines: Vec<Line<'_>>,
    scrolled: u16,
) {
    let area = frame.area();
    let width = (area.width * 4 / 5).clamp(40, 100).min(area.width);
    let wanted = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(4);
    let height = wanted.max(8).min(area.height.saturating_sub(2).max(1));
    let at = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let block = Block::bordered()
        .border_type(BorderType::Double)
        .border_style(theme.accent())
        .title(Line::from(format!(" {title} ")).bold())
        .title_bottom(Line::styled(format!(" {foot} "), theme.faint()).right_aligned());
    let text = Paragraph::new(lines).block(block).wrap(Wrap { trim: false }).scroll((scrolled, 0));
    frame.render_widget(Clear, at);
    frame.render_widget(text, at);
}

fn help() -> Vec<Line<'static>> {
    let keys = [
        ("tab →", "next panel; shift-tab or ← for the previous one"),
        ("↑ ↓ j k", "move between rows; page keys move by ten"),
        ("enter", "details; for a task, why it is not running"),
        ("/", "filter: words, status:failed, -agent:bob; esc clears"),
        ("r", "retry a task that failed or waits for review"),
        ("c", "cancel a task and its subtasks, or an offer"),
        ("u", "release a task or a lock from its holder"),
        ("w", "next workspace"),
        ("q", "quit; or ctrl-c"),
    ];
    let line = |(key, meaning): (&'static str, &'static str)| {
        Line::from(vec![Span::from(format!(" {key:<9}")).bold(), Span::from(meaning)])
    };
    let mut lines: Vec<Line<'static>> = keys.into_iter().map(line).collect();
    lines.push(Line::default());
    lines.push(Line::from(" ● alive ✗ lost ○ left · ▸ working ○ ready ◌ blocked ? review"));
    lines
}
