// Light, dark, or as the system says.

const KEY = "baton.theme";
const THEMES = ["system", "light", "dark"];

export const theme = () => localStorage.getItem(KEY) ?? "system";

export function applyTheme() {
  const chosen = theme();
  document.documentElement.dataset.theme = chosen;
}

export function nextTheme() {
  const next = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(KEY, next);
  applyTheme();
}
