import { createHmac } from 'node:crypto';
import { isEqualSecret } from '../../../base/secret.js';

/**
 * Twilio's request signature: base64 of the HMAC-SHA1, with the account's auth token, of the requested address followed
 * by every form field, sorted by name; repeated fields are sorted by their distinct values.
 * (twilio.com/docs/usage/webhooks/webhooks-security; twilio-node 6.2.0 agrees with it in the tests.)
 *
 * @param url as Twilio knows it, with its query
 */
export function twilioSignature(authToken: string, url: string, form: URLSearchParams): string {
  let text = url;
  for (const name of [...new Set(form.keys())].sort()) {
    for (const value of [...new Set(form.getAll(name))].sort()) text += name + value;
  }
  return createHmac('sha1', authToken).update(text, 'utf8').digest('base64');
}

/** Whether a signature is Twilio's, with or without the port in the address. */
export function isSigned(authToken: string, signature: string, url: string, form: URLSearchParams): boolean {
  return portForms(url).some((form_) => isEqualSecret(signature, twilioSignature(authToken, form_, form)));
}

/** Twilio signs the standard port sometimes with, sometimes without the number. */
function portForms(url: string): string[] {
  const match = /^(https?|wss?):\/\/([^/?#:]+|\[[^\]]+\])(:\d+)?(.*)$/.exec(url);
  if (match === null) return [url];
  const [, scheme = '', host = '', port, rest = ''] = match;
  const standard = scheme === 'https' || scheme === 'wss' ? ':443' : ':80';
  const forms = [url, `${scheme}://${host}${rest}`];
  if (port === undefined) forms.push(`${scheme}://${host}${standard}${rest}`);
  return forms;
}
