import AnsweringPeer
import Basics
import Foundation
import Peer

/// Answers the offer on standard input and saves the received media without transcoding: audio to NAME.opus, video to
/// NAME.h264.
///
///     save-peer ADDRESS NAME < offer.sdp > answer.sdp
@main enum SavePeer {
    static func main() {
        Invocation.run {
            try AnsweringPeer.serve(
                offer: Invocation.offer(), at: Invocation.address(),
                configure: { configuration in
                    configuration.videoCodecs = [.h264]
                    (configuration.audio, configuration.video) = (.receiveOnly, .receiveOnly)
                }, handler: try Files(CommandLine.arguments.dropFirst(2).first ?? "saved"), answered: Invocation.tell)
        }
    }
}

/// Writes to the disk on the network thread, which is enough for one peer; a server would use another thread.
final class Files: PeerHandler {
    private var audioFile: OggOpusFile
    private let pictures: FileHandle
    /// The sequence number of the last written packet.
    private var lastSequence = Int64.min

    init(_ name: String) throws {
        audioFile = try OggOpusFile(path: name + ".opus")
        pictures = try FileHandle.creating(name + ".h264")
    }

    func handle(_ event: PeerEvent, of connection: PeerConnection, at now: Instant) {
        do {
            switch event {
            // Packets come in the order of arrival. A copy (RFC 2198) comes before the packet that carried it, and so
            // fills its gap; overtaken packets are skipped.
            case .audio(let packet) where packet.sequence > lastSequence:
                lastSequence = packet.sequence
                try audioFile.append(packet.payload, timestamp: packet.timestamp)
            // Frames come in decoding order; the first one is a keyframe, and frames without their references are not
            // delivered.
            case .video(let received): try pictures.write(contentsOf: received.frame.data)
            case .closed: try finish("the other end closed the connection")
            case .failed(let reason), .overBudget(let reason): try finish(reason)
            default: break
            }
        } catch {
            Invocation.note("cannot write: \(error)")
            connection.close(at: now)
        }
    }

    private func finish(_ reason: String) throws {
        Invocation.note(reason)
        try audioFile.finish()
        try pictures.close()
    }
}

extension FileHandle {
    /// An empty file, open for writing.
    static func creating(_ path: String) throws -> FileHandle {
        try Data().write(to: URL(fileURLWithPath: path))
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }
}
