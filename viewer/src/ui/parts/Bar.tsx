// A share as a bar, beside its number.

/** A bar of a share between 0 and 1; a number beside it has the value, so a screen reader passes it over. */
export function Bar(props: { share: number; noise?: boolean; kind?: "more" | "less" | "second" }) {
  const width = `${Math.max(0, Math.min(1, props.share || 0)) * 100}%`;
  const classes = ["bar", props.noise ? "noise" : "", props.kind ?? ""].filter(Boolean).join(" ");
  return (
    <span class={classes} aria-hidden="true">
      <span style={{ width }} />
    </span>
  );
}
