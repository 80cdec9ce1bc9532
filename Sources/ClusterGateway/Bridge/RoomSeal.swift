package import Conference
package import Cryptography

/// Seals the states of rooms with a key of `cluster.secret`. Whoever reads etcd, its disks or its snapshots sees neither
/// PINs, nor what was written in the chat, nor the keys of streams; and nobody else can write a state.
///
/// Sealed is one byte of version, and what AES-GCM makes of the state: 12 bytes of nonce, the text, 16 bytes of tag
/// (NIST SP 800-38D). The room's name is authenticated too, so that a state is good for its room only.
package struct RoomSeal: Sendable {
    /// How many bytes longer a state is when it is sealed.
    package static let overhead = 1 + AuthenticatedCipher.nonceLength + AuthenticatedCipher.tagLength

    private static let version: UInt8 = 1

    private let cipher: AuthenticatedCipher

    /// - Parameter secret: `cluster.secret`, which signs tokens too: the key is one of its own (RFC 5869).
    package init(secret: String) {
        cipher = AuthenticatedCipher(
            key: KeyDerivation.hkdf(
                Array(secret.utf8), info: Array("tessera states of rooms".utf8), count: AuthenticatedCipher.keyLength))
    }

    package func sealed(_ state: [UInt8], of room: String) throws(CryptographyError) -> [UInt8] {
        [Self.version] + (try cipher.seal(state, context: Array(room.utf8)))
    }

    package func opened(_ bytes: [UInt8], of room: String) throws(BadRoomState) -> [UInt8] {
        guard bytes.first == Self.version else {
            throw BadRoomState(description: "it is not sealed as this version does it")
        }
        guard let state = try? cipher.open(Array(bytes.dropFirst()), context: Array(room.utf8)) else {
            throw BadRoomState(
                description: "it was sealed with another cluster.secret, or for another room, or changed")
        }
        return state
    }
}
