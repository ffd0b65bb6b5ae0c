/** UDP sockets that this process has open. */
export function udpSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('UDP')).length;
}
