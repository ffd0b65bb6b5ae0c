const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether the visitor may be expected to get into the console: they are on the daemon's own machine, or signed in. */
export function isOperator(): boolean {
  return LOOPBACK.test(location.hostname) || sessionStorage.getItem('parley.key') !== null;
}
