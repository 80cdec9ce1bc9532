import Basics
import Peer
import RoomMedia

/// The video playout of a participant's tile in the mix: the rooms' own queue of pictures, advanced by the ticks of the
/// canvas.
struct TileView {
    private(set) var shown = ShownPictures()
    /// The delay for which the audio waits.
    private(set) var wait = LipSyncDelay()
    private var queue = PictureQueue<MediaMark>()
    private var fresh: [ReceivedVideoFrame] = []

    mutating func receive(_ frame: ReceivedVideoFrame) {
        guard let mark = SyntheticEncoder.mark(of: frame.frame) else { return }
        queue.insert(Timed(content: mark, captureTime: frame.captureTime, arrival: frame.arrival))
        fresh.append(frame)
    }

    /// Advances to a tick of the canvas.
    mutating func tick(at now: Instant, audioSink: AudioSink) {
        for frame in fresh {
            wait.recordPicture(
                of: frame.captureTime, arrival: frame.arrival, isRepaired: frame.isRepaired, couldBeShownAt: now)
        }
        fresh.removeAll(keepingCapacity: true)
        let before = queue.generation
        queue.advance(to: now, audioDelay: audioSink.playoutDelay(at: now))
        guard queue.generation != before, let picture = queue.current else { return }
        shown.append(picture.content, audioDelay: audioSink.delay, at: now)
    }
}
