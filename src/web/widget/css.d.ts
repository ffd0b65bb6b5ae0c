/** Style sheets come as minified text, with what they import (scripts/build-web.mjs). */
declare module '*.css' {
  const text: string;
  export default text;
}
