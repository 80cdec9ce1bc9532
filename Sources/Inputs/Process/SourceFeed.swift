import Basics
import Codecs

/// Serves the bytes that the server fetches to the process that demuxes them. One thread uses it.
final class SourceFeed {
    /// Opens a URL that a playlist names, or throws.
    typealias Nested = (_ url: String, _ range: Range<Int64>?) throws -> any ByteSource

    /// What a process may have open at once, the bytes of one reading, and the length of a URL.
    private static let mostSources = 64
    private static let mostBytes = 1 << 16
    private static let longestURL = 8192

    private var sources: [UInt32: any ByteSource] = [:]
    private var nextID: UInt32 = 1
    private let nested: Nested?
    /// Why the last request was refused; the process cannot say it.
    private(set) var failure: (any Error)?

    /// - Parameter main: the source itself, which has the number 0.
    init(main: (any ByteSource)?, nested: Nested?) {
        self.nested = nested
        if let main { sources[0] = main }
    }

    /// The answer to a reply that is a request to the server; nil: it is none, or needs no answer.
    func answer(_ reply: SourceReply) throws -> SourceRequest? {
        do {
            switch reply {
            case .read(let id, let count):
                guard let source = sources[id] else { throw Channel.Failure.malformed }
                let room = min(max(1, Int(count)), Self.mostBytes)
                var bytes = [UInt8](repeating: 0, count: room)
                let got = try bytes.withUnsafeMutableBytes { try source.read(into: $0) }
                bytes.removeLast(room - max(0, min(room, got)))
                return .bytes(bytes)
            case .seek(let id, let position):
                guard let source = sources[id] else { throw Channel.Failure.malformed }
                try source.seek(to: position)
                return .sought
            case .nested(let url, let range):
                guard let nested, sources.count < Self.mostSources, url.utf8.count <= Self.longestURL else {
                    throw Channel.Failure.malformed
                }
                let source = try nested(url, range)
                failure = nil
                defer { nextID &+= 1 }
                sources[nextID] = source
                return .nested(nextID, length: source.length, isSeekable: source.isSeekable)
            case .close(let id):
                sources[id] = nil
                return nil
            case .connected, .opened, .packet, .end, .rewound, .failed: return nil
            }
        } catch let error as Channel.Failure {
            throw error
        } catch {
            failure = error
            return .refused(isFinal: (error as? any FinalError)?.isFinal ?? false)
        }
    }
}
