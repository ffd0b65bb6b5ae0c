const SVG = 'http://www.w3.org/2000/svg';

/** Icons as paths in a square of 24. */
const PATHS = {
  talk: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3',
  hangup:
    'M3.2 14.6c-.5-1-.3-2.2.6-3 2.3-2 5.2-3.1 8.2-3.1s5.9 1.1 8.2 3.1c.9.8 1.1 2 .6 3l-.6 1.1a1.5 1.5 0 0 1-1.9.7l-2.5-1a1.5 1.5 0 0 1-.9-1.2l-.2-1.6a10 10 0 0 0-5.4 0l-.2 1.6a1.5 1.5 0 0 1-.9 1.2l-2.5 1a1.5 1.5 0 0 1-1.9-.7z',
  slash: 'M4 4l16 16',
  dots: 'M6 6h.01M12 6h.01M18 6h.01M6 12h.01M12 12h.01M18 12h.01M6 18h.01M12 18h.01M18 18h.01',
  chat: 'M5 4.5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-4.5 4v-4H5a2 2 0 0 1-2-2v-8a2 2 0 0 1 2-2z',
  down: 'M6 9.5l6 6 6-6',
  send: 'M12 19V5M5.5 11.5 12 5l6.5 6.5',
  wait: 'M12 3.5a8.5 8.5 0 1 1-8.5 8.5',
} as const;

export type IconName = keyof typeof PATHS;

/** A line icon of one or more paths. */
export function icon(...names: IconName[]): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', `icon icon-${names.join('-')}`);
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  for (const name of names) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', PATHS[name]);
    svg.append(path);
  }
  return svg;
}
