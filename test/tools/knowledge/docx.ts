import { strToU8, zipSync } from 'fflate';

/** A Word document with this body; headings have German style ids, as a German Word writes them. */
export function makeDocx(body: string): Uint8Array {
  const styles =
    '<w:styles xmlns:w="w"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>' +
    '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style></w:styles>';
  const document = `<?xml version="1.0"?><w:document xmlns:w="w" xmlns:mc="mc"><w:body>${body}</w:body></w:document>`;
  return zipSync({
    '[Content_Types].xml': strToU8('<Types/>'),
    'word/document.xml': strToU8(document),
    'word/styles.xml': strToU8(styles),
  });
}

/** A paragraph of runs. */
export function paragraph(text: string, style?: string): string {
  const properties = style === undefined ? '' : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`;
  const runs = text.split('/').map((run) => `<w:r><w:t xml:space="preserve">${run}</w:t></w:r>`);
  return `<w:p>${properties}${runs.join('')}</w:p>`;
}
