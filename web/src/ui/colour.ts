// Colours. Sizes are told by brightness alone, verdicts by shape too, so that nothing depends on telling red from green.
import type { Theme } from "./store.ts";

type Rgb = [number, number, number];

// From nothing to the largest error, brightness falling (light) or rising (dark) all the way.
const RAMPS: Record<Theme, Rgb[]> = {
  light: [
    [238, 242, 247],
    [254, 227, 170],
    [250, 170, 80],
    [222, 84, 32],
    [158, 20, 48],
    [76, 6, 52],
  ],
  dark: [
    [30, 38, 50],
    [62, 46, 108],
    [134, 42, 116],
    [206, 66, 82],
    [246, 142, 60],
    [252, 232, 140],
  ],
};

export interface Palette {
  theme: Theme;
  text: string;
  faint: string;
  line: string;
  band: string;
  back: string;
  accent: string;
  pass: string;
  ignored: string;
  fail: string;
  error: string;
  mine: string;
  golden: string;
  ramp: string[]; // 256 steps
}

const PALETTES: Record<Theme, Omit<Palette, "ramp" | "theme">> = {
  light: { text: "#1c2430", faint: "#5d6a7b", line: "#d5dbe4", band: "#f3f5f9", back: "#ffffff", accent: "#0b62c4", pass: "#5b84b1", ignored: "#a3acb9", fail: "#d04a02", error: "#8e1a78", mine: "#d04a02", golden: "#0b62c4" },
  dark: { text: "#e6eaf0", faint: "#94a1b3", line: "#323c4a", band: "#1a212b", back: "#12171e", accent: "#62a8ff", pass: "#6f9bce", ignored: "#66707f", fail: "#ff8a3d", error: "#e377d4", mine: "#ff8a3d", golden: "#62a8ff" },
};

function rampOf(theme: Theme): string[] {
  const stops = RAMPS[theme];
  return Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (stops.length - 1);
    const low = stops[Math.floor(at)]!;
    const high = stops[Math.min(stops.length - 1, Math.floor(at) + 1)]!;
    const share = at - Math.floor(at);
    return `rgb(${low.map((each, c) => Math.round(each + (high[c]! - each) * share)).join(",")})`;
  });
}

const made = new Map<Theme, Palette>();
export function paletteOf(theme: Theme): Palette {
  let palette = made.get(theme);
  if (!palette) made.set(theme, (palette = { theme, ...PALETTES[theme], ramp: rampOf(theme) }));
  return palette;
}

export function heatColour(palette: Palette, share: number): string {
  return palette.ramp[Math.round(Math.min(1, Math.max(0, share)) * 255)]!;
}

export function levelColour(palette: Palette, level: number): string {
  return [palette.pass, palette.ignored, palette.fail, palette.error][level] ?? palette.pass;
}
