/** A session's id as a file name without extension. */
export function fileNameOf(sessionId: string): string {
  return sessionId
    .replaceAll(/[^\w.-]/g, '_')
    .replace(/^\.+/, '_')
    .slice(0, 200);
}
