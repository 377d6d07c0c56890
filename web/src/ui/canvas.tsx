// A canvas as large as its place, drawn anew where that or what it shows changes.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

export interface Size {
  width: number;
  height: number;
}

export function useSize(): [{ current: HTMLDivElement | null }, Size] {
  const place = useRef<HTMLDivElement | null>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return [place, size];
}

export interface Pointer {
  x: number;
  y: number;
}

interface Props {
  width: number;
  height: number;
  label: string;
  draw: (context: CanvasRenderingContext2D) => void;
  on?: unknown[]; // what it shows
  onHover?: (at: Pointer | undefined) => void;
  onPick?: (at: Pointer) => void;
  onTwice?: (at: Pointer) => void;
  class?: string;
}

export function Canvas({ width, height, label, draw, on = [], onHover, onPick, onTwice, class: name }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element || width <= 0 || height <= 0) return;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    const context = element.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context);
  }, [width, height, ...on]);
  const at = (event: MouseEvent): Pointer => {
    const box = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  return (
    <canvas
      ref={canvas}
      class={name}
      role="img"
      aria-label={label}
      style={{ width: `${width}px`, height: `${height}px` }}
      onMouseMove={onHover && ((event) => onHover(at(event)))}
      onMouseLeave={onHover && (() => onHover(undefined))}
      onClick={onPick && ((event) => onPick(at(event)))}
      onDblClick={onTwice && ((event) => onTwice(at(event)))}
    />
  );
}

export interface TipState {
  x: number;
  y: number;
  text: ComponentChildren;
}

// Text beside the pointer, inside of its place.
export function Tip({ tip, width }: { tip: TipState | undefined; width: number }) {
  if (!tip) return null;
  const right = tip.x > width / 2;
  return (
    <div class="tip" style={{ top: `${tip.y + 14}px`, ...(right ? { right: `${Math.max(0, width - tip.x + 10)}px` } : { left: `${tip.x + 12}px` }) }}>
      {tip.text}
    </div>
  );
}

// "▲ fail": a verdict as a shape and a word.
export const LEVEL_SIGNS = ["·", "○", "●", "▲"];
