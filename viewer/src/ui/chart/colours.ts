// Colours of what is drawn on canvases, from the style sheet, so that they follow the theme.

/** Contributors in their order; what is left is grey. Told apart with the usual defects of sight as well. */
const LIGHT = ["#3b6fd4", "#e0862b", "#2f9a76", "#c2528b", "#8f7ae0", "#b59a1f", "#2fa0b8", "#a35a3c"];
const DARK = ["#5b8cf0", "#f0a050", "#4fb894", "#dd74a8", "#a998f2", "#d0b848", "#50b8d0", "#c8805e"];

export type Theme = "light" | "dark";

export function contributor(at: number, theme: Theme): string {
  const colours = theme === "dark" ? DARK : LIGHT;
  return colours[at % colours.length];
}

export function ofOthers(theme: Theme): string {
  return theme === "dark" ? "#4a4e55" : "#c5c9d0";
}

/** A colour of the style sheet, by its name. */
export function variable(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
}
