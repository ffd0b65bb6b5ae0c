const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether the visitor probably has access to the console: on the daemon's own machine, or signed in. */
export function isOperator(): boolean {
  return LOOPBACK.test(location.hostname) || sessionStorage.getItem('parley.key') !== null;
}
