/** The customer's wish not to be called again is in the call's record, so that campaigns heed it. */
export function doNotCall({ report }) {
  return report.doNotCall ? true : 'the wish not to be called again is not recorded';
}
