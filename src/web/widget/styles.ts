import dark from '../page/dark.css';
import type { Theme } from './options.js';
import style from './style.css';

const MEDIA: Readonly<Record<Theme, string>> = {
  auto: '(prefers-color-scheme: dark)',
  light: 'not all',
  dark: 'all',
};

/**
 * Style sheets of a widget. Made by script, not by an element: a page's Content Security Policy that forbids inline
 * styles has nothing against these.
 */
export function styleSheets(theme: Theme): CSSStyleSheet[] {
  const always = new CSSStyleSheet();
  always.replaceSync(style);
  const inTheDark = new CSSStyleSheet({ media: MEDIA[theme] });
  inTheDark.replaceSync(dark);
  return [always, inTheDark];
}
