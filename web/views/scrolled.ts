// SPDX-License-Identifier: Apache-2.0
import { css } from "lit";

/**
 * An element that is wider than its place scrolls there. Touch screens show no scroll bar, so that it fades at the side
 * where it goes on, until its end is reached. Browsers without scroll-driven animations cut it off.
 */
export const kScrolledStyles = css`
  @media (pointer: coarse) {
    .scrolled {
      animation: goes-on linear;
      animation-timeline: scroll(self inline);
    }
  }
  @keyframes goes-on {
    from,
    99% {
      mask-image: linear-gradient(to right, #000 calc(100% - 32px), #0000);
    }
    to {
      mask-image: none;
    }
  }
`;
