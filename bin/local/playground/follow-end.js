/** Browsers round heights, and some also the scroll position, so up to this distance counts as the end. */
const endPixels = 2;

/**
 * Keeps the end of a growing content in view until the reader scrolls up, and again when the reader is back at the end.
 * Scrolls of the browser itself do not end this: it scrolls when text of an estimated height comes into view.
 *
 * @param {HTMLElement} scroller
 * @param {HTMLElement} content
 * @returns {() => void} scrolls to the end
 */
export function followEnd(scroller, content) {
  let isAtEnd = true;
  /**
   * Whether the view has left the end since the reader began to scroll up. Before that, a scroll event may still be
   * that of the last jump to the end.
   */
  let hasLeft = false;
  const toEnd = () => {
    isAtEnd = true;
    scroller.scrollTop = scroller.scrollHeight;
  };
  const leave = (/** @type {Event} */ event) => {
    if (scroller.scrollTop === 0 || !isUpward(event)) return;
    isAtEnd = false;
    hasLeft = false;
  };
  for (const type of ['wheel', 'touchmove', 'pointerdown', 'keydown'])
    scroller.addEventListener(type, leave, { passive: true });
  scroller.addEventListener('scroll', () => {
    const { scrollTop, clientHeight, scrollHeight } = scroller;
    const isNear = scrollTop + clientHeight >= scrollHeight - endPixels;
    if (isNear && hasLeft) isAtEnd = true;
    hasLeft ||= !isNear;
  });
  // The observer runs after the layout of a frame, so a read of a height causes no further layout.
  const observer = new ResizeObserver(() => isAtEnd && toEnd());
  observer.observe(content);
  observer.observe(scroller);
  return toEnd;
}

/** @param {Event} event */
function isUpward(event) {
  if (event instanceof WheelEvent) return event.deltaY < 0;
  if (event instanceof KeyboardEvent) return ['ArrowUp', 'PageUp', 'Home'].includes(event.key);
  // A press on the scroll bar has the scroller itself as its target, as has one beside the messages.
  return event.type === 'touchmove' || event.target === event.currentTarget;
}
