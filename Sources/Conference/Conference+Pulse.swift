import RoomMedia
package import Threads

extension Conference {
    /// Asks the threads on which every call depends: the control thread, the network loops, the audio threads and the
    /// picture clock. They answer within some 20 ms while they work, and never after `drain`. The pool is not asked: an
    /// overload that delays its work is no reason to end calls.
    package func ask(_ pulse: Pulse) {
        control.post(pulse.expect())
        for host in media.peers.hosts {
            let answer = pulse.expect()
            media.peers.run(on: host) { _, _ in answer() }
        }
        for clock in media.audioClocks {
            let answer = pulse.expect()
            clock.execute { _ in answer() }
        }
        media.videoClock.execute(pulse.expect())
    }
}
