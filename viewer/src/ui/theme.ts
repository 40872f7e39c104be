// Light or dark: as the system has it, unless a reader chose.

import { useEffect, useState } from "preact/hooks";

export type Theme = "light" | "dark";

const KEY = "lifetrace-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** What is shown, and how to change it. */
export function useTheme(): [Theme, () => void] {
  const [chosen, setChosen] = useState<Theme | null>(kept);
  const [isDark, setDark] = useState(system.matches);
  useEffect(() => {
    const heard = () => setDark(system.matches);
    system.addEventListener("change", heard);
    return () => system.removeEventListener("change", heard);
  }, []);
  const theme = chosen ?? (isDark ? "dark" : "light");
  // Before children draw: their canvases ask the document for its colours.
  document.documentElement.dataset.theme = theme;
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark";
    setChosen(next);
    keep(next);
  };
  return [theme, toggle];
}

/** A page that is a file may have no storage. */
function kept(): Theme | null {
  try {
    const text = localStorage.getItem(KEY);
    return text === "light" || text === "dark" ? text : null;
  } catch {
    return null;
  }
}

function keep(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then it is for this page alone.
  }
}
