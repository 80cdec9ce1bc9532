/// Chunks that are sent together in one packet (RFC 9260 §6.10). A peer whose requests need many answers gets several
/// packets, not one that DTLS cannot carry.
struct SCTPBundle {
    private static let header = 12

    private let limit: Int
    private var size = Self.header
    private(set) var chunks: [SCTPChunk] = []

    /// - Parameter limit: the bytes of the largest packet.
    init(limit: Int) {
        self.limit = limit
    }

    /// Appends a chunk. If it does not fit beside the others, these are returned, to be sent before it.
    mutating func append(_ chunk: SCTPChunk) -> [SCTPChunk]? {
        let length = chunk.encodedSize
        defer { size += length }
        guard size + length > limit, !chunks.isEmpty else {
            chunks.append(chunk)
            return nil
        }
        let full = chunks
        chunks = [chunk]
        size = Self.header
        return full
    }
}
