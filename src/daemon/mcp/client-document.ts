import type { Settings } from '../../settings/settings.js';

export const CALLBACK_PATH = '/mcp/oauth/callback';
export const CLIENT_DOCUMENT_PATH = '/mcp/oauth/client.json';

type Place = Pick<Settings, 'publicUrl'>;

/**
 * The address of the document that describes parley as a client (Client ID Metadata Documents); null = authorization
 * servers could not read it, because the daemon has no public address with https.
 */
export function clientDocumentUrl({ publicUrl }: Place): string | null {
  return publicUrl?.startsWith('https://') === true ? publicUrl.replace(/\/$/, '') + CLIENT_DOCUMENT_PATH : null;
}

/** The document; null as above. */
export function clientDocument({ publicUrl }: Place): object | null {
  const url = clientDocumentUrl({ publicUrl });
  if (url === null) return null;
  return {
    client_id: url,
    client_name: 'parley',
    client_uri: publicUrl,
    redirect_uris: [url.slice(0, -CLIENT_DOCUMENT_PATH.length) + CALLBACK_PATH],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
  };
}
