// A list of which only what is in sight exists.
import { Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

interface Props {
  count: number;
  height: number; // of a line
  line: (index: number) => ComponentChildren;
  focus?: number; // brought into sight where it changes
  head?: ComponentChildren;
  label: string;
  width?: number; // of a line; wider than the place: it scrolls
}

const SPARE = 8; // lines beyond what is in sight
const TALLEST = 16_000_000; // a browser draws nothing beyond some such height

export function Scroller({ count, height, line, focus, head, label, width }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(600);
  const headHeight = head ? 28 : 0;
  const all = count * height;
  const tall = Math.min(all, TALLEST);
  const squeeze = all > tall ? (all - room) / Math.max(1, tall - room) : 1;
  useLayoutEffect(() => {
    const element = place.current!;
    const measure = (): void => setRoom(element.clientHeight);
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    const element = place.current!;
    if (focus === undefined || focus < 0) return;
    const at = focus * height;
    const from = element.scrollTop * squeeze;
    const inside = element.clientHeight - headHeight;
    if (at < from || at + height > from + inside) element.scrollTop = Math.max(0, at - inside / 3) / squeeze;
  }, [focus, count]);
  const offset = top * squeeze;
  const first = Math.max(0, Math.floor(offset / height) - SPARE);
  const last = Math.min(count, Math.ceil((offset + room) / height) + SPARE);
  const lines = [];
  // What a line leaves, the next that comes takes over: elements are not made anew.
  const slots = Math.ceil(room / height) + 2 * SPARE + 2;
  for (let i = first; i < last; ++i) lines.push(<Fragment key={i % slots}>{line(i)}</Fragment>);
  return (
    <div class="scroller" ref={place} tabIndex={0} role="grid" aria-label={label} aria-rowcount={count} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      {head}
      <div class="scroller-all" style={{ height: `${tall}px`, minWidth: width ? `${width}px` : "100%" }}>
        <div class="scroller-lines" style={{ transform: `translateY(${Math.round(top + first * height - offset)}px)` }}>
          {lines}
        </div>
      </div>
    </div>
  );
}
