import Basics
import Codecs
import Foundation
import TestSupport

@testable import Recording

/// A participant whose camera flashes and whose microphone beeps at every whole second of a recording's feed, as its
/// sender's packets and its jitter buffer bring them to the tracks.
final class Performer {
    static let period = 40
    let id: String
    /// From capture to playout, and to arrival, in ms.
    var delay = 90
    var transport = 30
    var isRecorded = true
    /// Frames that the link loses: those that depend on one are of no use, as a receiver drops them.
    var loses: (Int) -> Bool = { _ in false }
    private(set) var keyframes = 0
    private let encoder: any VideoEncoder
    private let dark: Picture
    private let bright: Picture
    private var wantsKeyframe = true
    private var isBroken = false

    init(_ id: String, _ codec: VideoCodec = .vp8) throws {
        self.id = id
        encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: FlashAndBeep.width, height: FlashAndBeep.height, framesPerSecond: 25,
                bitRate: .kilobits(200), speed: .normal))
        (dark, bright) = (FlashAndBeep.picture(16), FlashAndBeep.picture(235))
    }

    /// 20 ms of what is played at a time, nil where there is no sound.
    func voice(_ millisecond: Int, isSilent: Bool = false) -> RecordingTracks.Voice {
        let isOn = !isSilent && millisecond % 1000 < 100
        return RecordingTracks.Voice(
            participant: id, samples: isOn ? FlashAndBeep.audio(millisecond).samples : nil, delay: .milliseconds(delay))
    }

    /// Sends the frame whose sound is played at a time.
    func send(_ millisecond: Int, to tracks: RecordingTracks) throws {
        let coded = try encoder.encode(
            millisecond % 1000 < 100 ? bright : dark,
            timestamp: FlashAndBeep.instant(millisecond).ticks(at: 90_000), forceKeyframe: wantsKeyframe)
        guard let coded else { return }
        wantsKeyframe = false
        if loses(millisecond) {
            (isBroken, wantsKeyframe) = (true, true)
            return
        }
        if isBroken, !coded.isKeyframe { return }
        isBroken = false
        if coded.isKeyframe { keyframes += 1 }
        let capture = FlashAndBeep.instant(millisecond - delay)
        let needsKeyframe = tracks.append(
            RecordingTracks.Picture(
                participant: id, isScreen: false, kind: .camera, frame: coded, rotation: .none, captureTime: capture,
                arrival: capture + .milliseconds(transport)))
        if needsKeyframe { wantsKeyframe = true }
    }
}

extension FlashAndBeep {
    static func picture(_ y: UInt8) -> Picture {
        let picture = Picture(width: width, height: height)
        picture.fill(y: y, u: 128, v: 128)
        return picture
    }

    /// Feeds a recorder and its tracks with the media of `range`: the frames of a time arrive before its audio is played.
    func feed(
        _ recorder: MP4Recorder, _ range: Range<Int>, _ performers: [Performer], audio: Bool = true
    ) throws {
        for time in stride(from: range.lowerBound, to: range.upperBound, by: 20) {
            let block = Self.audio(time)
            if audio { recorder.append(audio: block.samples, timestamp: block.timestamp) }
            let present = performers.filter(\.isRecorded)
            for performer in present {
                let captured = time + performer.delay - performer.transport
                let next = captured / 20 * 20
                if next % Performer.period == 0, let tracks = recorder.tracks { try performer.send(next, to: tracks) }
            }
            recorder.tracks?.append(present.map { $0.voice(time) }, timestamp: block.timestamp)
            let late = time - 60
            if late >= range.lowerBound, late % 40 == 0, let frame = try frame(late) { recorder.append(frame) }
        }
    }
}
