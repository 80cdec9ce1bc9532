/// The quality that a participant's link allows: the top rung, a lower one, audio with stills, audio alone.
package enum LinkMode: String, Sendable { case full, reduced, stills, audio }
