// A small line of values over time, with an area beneath it.

/** Values from 0 up to the greatest; words beside it have the numbers. */
export function Sparkline(props: { values: number[]; label: string; width?: number; height?: number; bars?: boolean }) {
  const { values, label, width = 120, height = 22, bars } = props;
  const most = values.reduce((most, value) => Math.max(most, value), 0);
  if (!(most > 0) || values.length < 2) return <span class="sparkline none" />;
  const x = (at: number) => (at / (values.length - 1)) * width;
  const y = (value: number) => height - 1 - (value / most) * (height - 2);
  const points = values.map((value, at) => `${x(at).toFixed(1)} ${y(value).toFixed(1)}`);
  const line = `M${points.join("L")}`;
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label} preserveAspectRatio="none">
      {bars ? (
        <path class="stroke" d={values.map((value, at) => (value > 0 ? `M${x(at).toFixed(1)} ${height}V${y(value).toFixed(1)}` : "")).join("")} />
      ) : (
        <>
          <path class="area" d={`${line}L${width} ${height}L0 ${height}Z`} />
          <path class="stroke" d={line} />
        </>
      )}
    </svg>
  );
}
