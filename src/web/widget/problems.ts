/** A request to the daemon that failed. */
export interface RequestProblem {
  message: string;
  /** Status of the answer; null = none. */
  status: number | null;
}

/**
 * Why there is no call, as a sentence for a visitor.
 * @param error null = something else failed
 */
export function problemWords(error: RequestProblem | null): string {
  if (error === null) return 'The sound could not be started in this browser.';
  switch (error.status) {
    case null:
      return 'The voice service does not answer. Try again later.';
    case 401:
      return 'The voice agent is not set up correctly on this page: its key is not known.';
    case 403:
      return `The voice agent may not be used on this page. ${error.message}.`;
    case 404:
      return 'There is no such voice agent.';
    case 409:
      return 'The voice agent is switched off at the moment.';
    case 429:
      return 'The voice service is busy. Try again in a moment.';
    case 503:
      return 'The voice service is restarting. Try again in a moment.';
    default:
      return 'The voice service has a problem. Try again later.';
  }
}
