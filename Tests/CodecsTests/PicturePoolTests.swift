import Basics
import Codecs
import Testing

@Suite struct PicturePoolTests {
    @Test("A pool reuses memory up to its limit, and pictures may outlive the pool")
    func pool() {
        var pool: PicturePool? = PicturePool(width: 65, height: 33, limit: 2)
        var pictures = (0..<3).map { _ in pool?.make() }
        let first = pictures[0]?.y
        #expect(pictures[0]?.width == 65 && pictures[0]?.chromaWidth == 33 && pictures[0]?.chromaHeight == 17)
        #expect(Int(bitPattern: first) % 32 == 0 && (pictures[0]?.uStride ?? 1) % 32 == 0)
        pictures[0] = nil
        #expect(pool?.idleCount == 1)
        #expect(pool?.make().y == first)
        pictures = []
        #expect(pool?.idleCount == 2)
        let kept = pool?.make()
        pool = nil
        kept?.fill(y: 1, u: 2, v: 3)
        #expect(kept?.v[16 * (kept?.vStride ?? 0) + 32] == 3)
    }
}
