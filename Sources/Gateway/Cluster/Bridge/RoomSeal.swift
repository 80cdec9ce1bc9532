import Conference
import Crypto
import Foundation

/// Seals the states of rooms with a key of `cluster.secret`. Whoever reads etcd, its disks or its snapshots sees neither
/// PINs, nor what was written in the chat, nor the keys of streams; and nobody else can write a state.
///
/// Sealed is one byte of version, and what AES-GCM makes of the state: 12 bytes of nonce, the text, 16 bytes of tag
/// (NIST SP 800-38D). The room's name is authenticated too, so that a state is good for its room only.
struct RoomSeal: Sendable {
    /// How many bytes longer a state is when it is sealed.
    static let overhead = 1 + 12 + 16

    private static let version: UInt8 = 1

    private let key: SymmetricKey

    /// - Parameter secret: `cluster.secret`, which signs tokens too: the key is one of its own (RFC 5869).
    init(secret: String) {
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Data(secret.utf8)), info: Data("tessera states of rooms".utf8),
            outputByteCount: 32)
    }

    func sealed(_ state: [UInt8], of room: String) -> [UInt8] {
        // It fails for nonces of other lengths than the one that it makes.
        let box = try? AES.GCM.seal(state, using: key, authenticating: Data(room.utf8))
        return [Self.version] + (box?.combined ?? Data())
    }

    func opened(_ bytes: [UInt8], of room: String) throws(BadRoomState) -> [UInt8] {
        guard bytes.first == Self.version else {
            throw BadRoomState(description: "it is not sealed as this version does it")
        }
        do {
            let box = try AES.GCM.SealedBox(combined: bytes.dropFirst())
            return Array(try AES.GCM.open(box, using: key, authenticating: Data(room.utf8)))
        } catch {
            throw BadRoomState(
                description: "it was sealed with another cluster.secret, or for another room, or changed")
        }
    }
}
