// Markup as tagged templates. Text in them is always text: nothing here parses HTML.

import htm from "htm";
import { h } from "preact";

export { Fragment, h, render } from "preact";
export { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";

export const html = htm.bind(h);

/**
 * Class names of which some may be absent.
 * @param {...(string | false | undefined | null)} names
 */
export const classes = (...names) => names.filter(Boolean).join(" ");
