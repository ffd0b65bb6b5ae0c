/** A session's id as the name of a file, without an ending. */
export function fileNameOf(sessionId: string): string {
  return sessionId
    .replaceAll(/[^\w.-]/g, '_')
    .replace(/^\.+/, '_')
    .slice(0, 200);
}
