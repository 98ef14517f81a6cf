// SPDX-License-Identifier: Apache-2.0
/** Imported before everything else, so that the engine and the model load while the elements are set up. */
import { sharedModel } from "../maps/engine.js";

sharedModel("tiny").catch(() => undefined); // the elements will ask again and show the error
