import dark from '../page/dark.css';
import type { Theme } from './options.js';
import style from './style.css';

const MEDIA: Readonly<Record<Theme, string>> = {
  auto: '(prefers-color-scheme: dark)',
  light: 'not all',
  dark: 'all',
};

/** The style sheet of the forms, with declarations of the agent's embed settings, which cannot leave their rule. */
export function formSheet(declarations: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.insertRule('.form-card {}');
  (sheet.cssRules[0] as CSSStyleRule).style.cssText = declarations;
  return sheet;
}

/**
 * Style sheets of a widget, created by script, so that a Content Security Policy against inline styles does not block
 * them.
 */
export function styleSheets(theme: Theme): CSSStyleSheet[] {
  const always = new CSSStyleSheet();
  always.replaceSync(style);
  const inTheDark = new CSSStyleSheet({ media: MEDIA[theme] });
  inTheDark.replaceSync(dark);
  return [always, inTheDark];
}
