-- When a memory last stood in an answer: what nobody asked for in a long time may expire. It is noted beside the journal,
-- for reading changes nothing of what is remembered. What is there already counts as read when the file is upgraded, so
-- that nothing expires before it was watched for as long as its policy says.
ALTER TABLE memories ADD COLUMN accessed_at INTEGER;
UPDATE memories SET accessed_at = CAST(strftime('%s', 'now') AS INTEGER) * 1000000 WHERE channel <> 'turn';
