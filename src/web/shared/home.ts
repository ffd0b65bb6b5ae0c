/** The address of the daemon that served this page, without a trailing slash. A base path may precede all its paths. */
export function home(): string {
  return new URL('.', location.href).href.replace(/\/$/, '');
}
